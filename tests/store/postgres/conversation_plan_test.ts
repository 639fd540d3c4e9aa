/**
 * How much PostgreSQL reads to list conversations and to find the messages that a delivery was: about what it
 * gives, however much is stored.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import { Connections, type Session } from "../../../src/store/postgres/database/connections.ts";
import { listConversations } from "../../../src/store/sql/conversations.ts";
import { IS_MESSAGE, messagesOf } from "../../../src/store/sql/inbox.ts";
import { createTestDatabase, postgresTest } from "../../helpers/postgres.ts";
import { type Explained, explaining } from "./query_plans.ts";

const ROWS = 20_000;
const ID = "'01J' || lpad(n::text, 23, '0')";
const BEFORE = "'01J' || lpad((n - 1)::text, 23, '0')";

/** Of three tasks, the second retries the first, and the third follows the second. */
const FILL = `
  INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, created_at,
      delivery_id, parent_id, retry_of)
    SELECT ${ID}, 'p' || n % 5, 't', 'w', 'x', 'succeeded', '', n, 'D' || n,
      CASE WHEN n % 3 = 0 THEN ${BEFORE} END, CASE WHEN n % 3 = 2 THEN ${BEFORE} END
    FROM generate_series(1, ${ROWS}) n;
  INSERT INTO inbox SELECT ${ID}, 0, '{"delivery_id":"D' || n - (n + 2) % 3 || '","trigger":"t"}', 1
    FROM generate_series(1, ${ROWS}) n;
  INSERT INTO deliveries (id, project, "trigger", source, received_at, outcome, reason, status, remote,
      secret_store, secret_key, task_id, body_bytes, duration_ms, detail, via)
    SELECT 'D' || n, 'p', 't', 'webhook', n, 'accepted', '', 200, '', '', '', ${ID}, 1, 1, '{}', 'http'
    FROM generate_series(1, ${ROWS}) n;
  INSERT INTO conversations
    SELECT decode(md5(n::text), 'hex'), ${ID}, 'p' || n % 5, 'pr', n, ${ID}, n, n
    FROM generate_series(1, ${ROWS}) n;
  ANALYZE;`;

postgresTest("conversations and the messages of a delivery are found by indexes", async () => {
  await using database = await createTestDatabase();
  const owner = { node: "tests", run: "tests" };
  await using connections = new Connections({ url: database.url, owner, max: 1 });
  await connections.use((db) => db.exec(FILL));
  const read = async <Found>(work: (db: Session) => Promise<Found>) => {
    const seen: Explained[] = [];
    const found = await connections.transaction((db) => work(explaining(db, seen)));
    return { found, rows: seen.reduce((sum, { rows }) => sum + rows, 0) };
  };
  const limit = 20;
  for (const project of [undefined, "p1", "none"]) {
    const query = project === undefined ? { limit } : { limit, project };
    const { rows } = await read((db) => listConversations(db, query));
    ok(rows < 10 * limit, `${rows} rows for ${limit} conversations`);
  }
  const { found, rows } = await read(async (db) => {
    const messages = [];
    for (const one of await messagesOf(db, "D10000")) {
      messages.push(...await db.all(`SELECT task_id FROM inbox WHERE ${IS_MESSAGE}`, ...one));
    }
    return messages;
  });
  equal(found.length, 3);
  ok(rows < 50, `${rows} rows for 3 messages`);
});
