/**
 * How much PostgreSQL reads for lists of a large store: about as many rows as are asked for, from
 * each project and state that they may be of. What would read whole tables fails here.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { Connections, type Session } from "../../../src/store/postgres/database/connections.ts";
import { METHODS } from "../../../src/store/postgres/methods.ts";
import type { DeliveryQuery } from "../../../src/store/delivery_records.ts";
import type { TaskQuery } from "../../../src/store/task_records.ts";
import { createTestDatabase, postgresTest } from "../../helpers/postgres.ts";
import { idOf } from "../../helpers/store_records.ts";
import { type Explained, explaining } from "./query_plans.ts";

const ROWS = 200_000;
const LIMIT = 100;
/** Lists of one trigger over five projects read the newest of each, and once more those they give. */
const MOST_READ = 12 * LIMIT;

/**
 * Mostly succeeded tasks of a few projects; the tasks of `quiet` are all among the oldest. The newest
 * wait for each other in a few groups and in the workspaces of their projects.
 */
const FILL = `
  INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
      created_at, pending_since, readiness, gate, gate_max, workspace_max)
    SELECT id, project, 't' || n % 7, 'w' || n % 3, 'repo',
      CASE WHEN n % 1000 = 0 THEN 'failed' WHEN n > ${ROWS - 1000} THEN 'pending'
        ELSE 'succeeded' END, '', id, n, n, n % 3,
      decode('0' || n % 10, 'hex'), 1, 1 FROM numbered;
  INSERT INTO deliveries (id, project, "trigger", source, via, received_at, outcome, reason,
      status, remote, secret_store, secret_key, task_id, body_bytes, duration_ms, detail)
    SELECT id, project, 't' || n % 7, 'webhook', 'http', n,
      CASE WHEN n % 100 = 0 THEN 'duplicate' ELSE 'accepted' END, '', 200, '', '', '', id, 0, 0,
      '{}' FROM numbered;
  ANALYZE tasks, deliveries;`;
const NUMBERED = `
  CREATE TEMPORARY VIEW numbered AS SELECT n, '01HZZZZZZZZZZZZZZZZZ' || lpad(n::text, 6, '0') AS id,
    CASE WHEN n < 2000 THEN 'quiet' ELSE 'p' || n % 4 END AS project
    FROM generate_series(1, ${ROWS}) AS n;`;

type Fields<Query> = readonly Partial<Query>[];

const OF_BOTH: Fields<TaskQuery & DeliveryQuery> = [
  {},
  { project: "p1" },
  { project: "p1", trigger: "t1" },
  { project: "quiet" },
  { project: "quiet", trigger: "t1", since: 5 },
  { project: "nobody" },
  { trigger: "t1" },
  { trigger: "nobody" },
  { before: idOf(100_000) },
  { oldestFirst: true, after: idOf(5) },
  { ids: [idOf(5), idOf(6)] },
  { ids: [idOf(5), idOf(6)], trigger: "t1" },
  { ids: [idOf(5), idOf(6)], project: "p1", trigger: "t1" },
  { project: "p1", before: idOf(100_000), since: 5 },
  { project: "p1", oldestFirst: true, after: idOf(5), until: 2e12 },
  { trigger: "t1", to: idOf(5), before: idOf(100_000) },
];
const OF_TASKS: Fields<TaskQuery> = [
  { state: "pending" },
  { state: "failed" },
  { state: "cancelled" },
  { project: "p0", state: "failed" },
  { project: "quiet", state: "failed" },
  { project: "p0", trigger: "t1", state: "failed" },
  { project: "p1", workflow: "w1" },
  { project: "quiet", workflow: "w1", since: 5 },
  { workflow: "w1" },
  ...(["delivery", "parent", "retryOf"] as const).flatMap((field) => [
    { [field]: idOf(5) },
    { [field]: idOf(5), project: "p0", state: "failed" },
    { [field]: idOf(5), before: idOf(9), oldestFirst: true },
  ]),
];
const OF_DELIVERIES: Fields<DeliveryQuery> = [
  { outcome: "duplicate" },
  { outcome: "rejected" },
  { outcome: "accepted", project: "quiet", status: 200 },
  { outcome: "failed" },
  { outcome: "failed", project: "p0" },
  { outcome: "failed", project: "p0", trigger: "t1", oldestFirst: true },
];

postgresTest("lists, searches and counts read as much as they give", async (t) => {
  await using database = await createTestDatabase();
  const owner = { node: "tests", run: "tests" };
  await using connections = new Connections({ url: database.url, owner, max: 1 });
  await connections.use(async (db) => {
    await db.exec(`${NUMBERED} ${FILL}`);
    const step = async (
      name: string,
      work: (db: Session) => Promise<unknown> | undefined,
      most = MOST_READ,
    ) => {
      const seen: Explained[] = [];
      await t.step(name, async () => {
        await work(explaining(db, seen));
        equal(seen.length > 0, true);
        deepEqual(seen.filter(({ rows }) => rows > most), []);
      });
    };
    for (const query of [...OF_BOTH, ...OF_TASKS]) {
      const name = `listTasks ${JSON.stringify(query)}`;
      await step(name, (db) => METHODS.listTasks?.(db, { limit: LIMIT, ...query }));
    }
    for (const query of [...OF_BOTH, ...OF_DELIVERIES]) {
      const name = `listDeliveries ${JSON.stringify(query)}`;
      await step(name, (db) => METHODS.listDeliveries?.(db, { limit: LIMIT, ...query }));
    }
    await step("findTasks", (db) => METHODS.findTasks?.(db, idOf(5)), 1);
    await step("findDeliveries", (db) => METHODS.findDeliveries?.(db, "01H"), 2);
    await step("readDeliveries", (db) => METHODS.readDeliveries?.(db, [idOf(5), idOf(6)]), 4);
    await step("findPlan", (db) => METHODS.findPlan?.(db, idOf(5)), 1);
    await step("listInbox", (db) => METHODS.listInbox?.(db, idOf(5)), 0);
    await step("counts", (db) => METHODS.counts?.(db), 1000 + LIMIT);
    const limits = { limit: 5, newest: 1000 };
    await step("findIds", (db) => METHODS.findIds?.(db, "task", "000005", limits), 1000);
    await step("nthId", (db) => METHODS.nthId?.(db, "task", { nth: 50 }), 50);
  });
});
