/**
 * How much PostgreSQL reads to claim from a queue: about what it hands out, however many wait.
 *
 * @module
 */

import { ok } from "node:assert/strict";
import { Connections, type Session } from "../../../src/store/postgres/database/connections.ts";
import { claimSourceEvents } from "../../../src/store/postgres/chat/source_event_routing.ts";
import { claimMessages } from "../../../src/store/postgres/outbox/outbox_queue.ts";
import { createTestDatabase, postgresTest } from "../../helpers/postgres.ts";
import { range } from "../contract/each_store.ts";
import { type Explained, explaining } from "./query_plans.ts";

const ROWS = 50_000;
const LANES = 20;

/** Of each table the last tenth waits. */
const FILL = `
  INSERT INTO source_events (id, project, "trigger", provider, installation_id, external_event_id,
      delivery_id, kind, actor, conversation_id, thread_id, post_id, top_level, text, occurred_at,
      received_at, state, reason, queued_at, due_at, behind)
    SELECT '01G' || lpad(n::text, 23, '0'), 'p' || n % 5, 't' || n % 3, 'slack', 'A/T', n, 'D' || n,
      'message', 'U', 'C' || n % 50, 'th' || n % 2000, n, 0, 'x', n, n,
      CASE WHEN n * 10 > ${9 * ROWS} THEN 'received' ELSE 'routed' END, '', n, 0, n % 2
    FROM generate_series(1, ${ROWS}) n;
  INSERT INTO bindings SELECT 'p' || n % 5, 't' || n % 3, 'A/T', 'C' || n % 50, 'th' || n, 'B' || n,
    'T' || n, 1, 1 FROM generate_series(1, 20000) n;
  INSERT INTO outbox (id, project, connection, kind, target, key, body, task_id, lane, state,
      next_at, created_at, updated_at)
    SELECT 'M' || n, 'p', 'c' || n % ${LANES}, 'k', '{"n":' || n % 3000 || '}', 'key' || n % 300,
      '{}', '', 'p/c' || n % ${LANES},
      CASE WHEN n * 10 > ${9 * ROWS} THEN 'pending' ELSE 'sent' END, 0, n, n
    FROM generate_series(1, ${ROWS}) n;
  ANALYZE;`;

postgresTest("a claim reads as much as it hands out", async () => {
  await using database = await createTestDatabase();
  const owner = { node: "tests", run: "tests" };
  await using connections = new Connections({ url: database.url, owner, max: 1 });
  await connections.use((db) => db.exec(FILL));
  const read = async (work: (db: Session) => Promise<unknown>) => {
    const seen: Explained[] = [];
    await connections.transaction((db) => work(explaining(db, seen)));
    return seen.reduce((sum, { rows }) => sum + rows, 0);
  };
  const claim = (busy: readonly string[]) =>
    read((db) => claimMessages(db, { limit: LANES, now: 5, busy }));
  const messages = await claim([]);
  ok(messages < 50 * LANES, `${messages} rows for ${LANES} messages`);
  const none = await claim(range(0, LANES).map((n) => `p/c${n}`));
  ok(none < 10 * LANES, `${none} rows for no message`);
  const demand = { limit: 20, now: 5, staleMs: 1 };
  const events = await read((db) => claimSourceEvents(db, demand));
  ok(events < 20 * demand.limit, `${events} rows for ${demand.limit} events`);
});
