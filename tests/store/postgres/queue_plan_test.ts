/**
 * How much PostgreSQL reads to claim from a queue: about what it hands out, however many wait.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import { Connections, type Session } from "../../../src/store/postgres/database/connections.ts";
import { claimSourceEvents } from "../../../src/store/postgres/chat/claim_source_events.ts";
import { JobQueue } from "../../../src/store/postgres/jobs/job_queue.ts";
import { claimMessages } from "../../../src/store/postgres/claim_messages.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { openPostgresStore } from "../../../src/store/postgres/open_store.ts";
import { createTestDatabase, postgresTest } from "../../helpers/postgres.ts";
import { range } from "../contract/each_store.ts";
import { limitProject } from "../contract/limited_projects.ts";
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

/** A third of the jobs is for every node, a third for this one, and a third for others. */
const JOBS = `
  SELECT svc_jobs.create_queue('task/mine', '{"policy": "standard"}');
  SELECT svc_jobs.create_queue('task/others', '{"policy": "standard"}');
  INSERT INTO placements VALUES ('task/mine', '["tests"]'), ('task/others', '["nobody"]');
  INSERT INTO svc_jobs.job (id, name, data, created_on, start_after, keep_until, retry_limit, policy)
    SELECT job_of(id), (ARRAY['task', 'task/mine', 'task/others'])[1 + n % 3], to_jsonb(id),
      time_of(id), 'epoch', 'infinity', 1, 'standard'
    FROM (SELECT n, '01J' || lpad(n::text, 23, '0') AS id FROM generate_series(1, ${ROWS}) n) AS ids;
  ANALYZE;`;

/** A flood in a project with a limit, and behind it the jobs of another. */
const FLOOD = `
  SELECT svc_jobs.create_queue('task/flood', '{"policy": "standard"}');
  INSERT INTO placements VALUES ('task/flood', NULL, 'flood');
  INSERT INTO svc_jobs.job (id, name, data, group_id, created_on, start_after, keep_until, retry_limit, policy)
    SELECT job_of(id), CASE WHEN n > ${ROWS} THEN 'task' ELSE 'task/flood' END, to_jsonb(id),
      CASE WHEN n > ${ROWS} THEN 'other' ELSE 'flood' END,
      time_of(id), 'epoch', 'infinity', 1, 'standard'
    FROM (SELECT n, '01J' || lpad(n::text, 23, '0') AS id FROM generate_series(1, ${ROWS} + 20) n) AS ids;
  ANALYZE;`;

postgresTest("a claim of tasks reads as much of each queue as it may hand out", async () => {
  await using database = await createTestDatabase();
  const owner = { node: "tests", run: "tests" };
  await using connections = new Connections({ url: database.url, owner, max: 2 });
  await using jobs = await JobQueue.open(connections, {
    leaseMs: 60_000,
    names: ["tests"],
    isOwner: true,
  });
  await connections.use((db) => db.exec(JOBS));
  const seen: Explained[] = [];
  const taken = await connections.transaction(async (db) => {
    const taken = await jobs.take(explaining(db, seen), 8, { except: [] });
    await jobs.touch(explaining(db, seen), taken);
    return taken;
  });
  equal(taken.length, 8);
  const rows = seen.map(({ rows }) => rows);
  ok(rows.length === 2 && Math.max(...rows) < 10 * taken.length, `${rows} rows`);
});

postgresTest("a claim reads nothing of a project that has no room", async () => {
  await using database = await createTestDatabase();
  const owner = { node: "tests", run: "tests" };
  await using store = await openPostgresStore({ url: database.url, owner, clock: systemClock });
  await limitProject(store, "flood", 1);
  const max = { except: [], rooms: [["flood", 0], ["some", 3]] } as const;
  await using connections = new Connections({ url: database.url, owner, max: 2 });
  await using jobs = await JobQueue.open(connections, {
    leaseMs: 60_000,
    names: ["tests"],
    isOwner: true,
  });
  await connections.use((db) => db.exec(FLOOD));
  const seen: Explained[] = [];
  const taken = await connections.transaction((db) => jobs.take(explaining(db, seen), 8, max));
  equal(taken.length, 8);
  const rows = seen.map(({ rows }) => rows);
  ok(Math.max(...rows) < 10 * taken.length, `${rows} rows`);
  await connections.transaction((db) =>
    db.exec("DELETE FROM svc_jobs.job WHERE group_id <> 'flood'")
  );
  const open = { except: [], rooms: [["flood", 3]] } as const;
  equal((await connections.transaction((db) => jobs.take(db, 8, open))).length, 3);
});

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
