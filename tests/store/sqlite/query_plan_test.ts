/**
 * How SQLite carries out every statement of the store's task methods: by an index, in its order.
 * What would look through or sort whole tables as they grow, fails here.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { METHODS } from "../../../src/store/sqlite/methods.ts";
import type { NewTask, TaskConcurrency } from "../../../src/store/task_records.ts";
import { isGrowing, type Watched, watched } from "./query_plans.ts";
import { accept, step, taskIdOf } from "../../helpers/store_records.ts";

/** Goes through every way a task can take. */
async function useTasks(db: Watched): Promise<void> {
  const store = {
    recordDelivery: (given: Parameters<typeof METHODS.recordDelivery>[1]) =>
      Promise.resolve(METHODS.recordDelivery(db, given)),
  };
  const group = (policy: TaskConcurrency["policy"]): Partial<NewTask> => ({
    concurrency: { policy, key: "", max: 1 },
  });
  const more = { workspaceMax: 1, rateLimit: { perMinute: 1000, reject: false }, followed: true };
  for (const [at, policy] of (["Forbid", "Replace", "Queue"] as const).entries()) {
    for (let n = 0; n < 3; n++) {
      const task = { ...group(policy), ...more, dedupKey: `k${n}` };
      await accept(store, at * 10 + n, { trigger: policy, task });
    }
  }
  const debounce = { key: "", forMs: 10 };
  for (let n = 30; n < 33; n++) await accept(store, n, { task: { debounce, workspaceMax: n } });
  await accept(store, 40, { once: true, cursor: { name: "c", at: 1 } });
  for (const now of [1, 2e12]) {
    for (const { task } of (await METHODS.claimTasks(db, 2, now)).tasks) {
      await METHODS.saveStep(db, task.id, step(0, "succeeded"));
      await METHODS.setTaskDirectory(db, task.id, "/d");
      await METHODS.addToInbox(db, task.id, {}, 1);
      await METHODS.cancelTask(db, task.id, { reason: "", now: 1 });
      await METHODS.requeueTask(db, task.id, { now: 5 });
    }
  }
  await METHODS.claimInterrupted(db);
  const { tasks: [first] } = await METHODS.claimTasks(db, 9, 2e12);
  const id = first?.task.id ?? "";
  await METHODS.finishTask(db, { taskId: id, state: "failed", reason: "", now: 5, followed: true });
  await METHODS.retryTask(db, {
    by: { called: "ada" },
    id: taskIdOf(90),
    of: id,
    kept: [],
    keepDirectory: true,
    staysOnNode: true,
    now: 6,
  });
  await METHODS.listTaskEnds(db, 5);
  await METHODS.forgetTaskEnd(db, id, []);
  await METHODS.listInbox(db, id);
  await METHODS.findTasks(db, "01");
  await METHODS.findPlan(db, id);
  await METHODS.counts(db);
}

Deno.test("admitting, claiming, ending and retrying tasks: no statement grows with what is stored", async () => {
  await watched(async (db) => {
    await useTasks(db);
    const plans = db.plans();
    ok(plans.length > 30, "they were looked at");
    deepEqual(plans.filter(isGrowing), []);
  });
});

const QUERIES: readonly Record<string, unknown>[] = [
  {},
  { project: "default" },
  { project: "default", trigger: "push" },
  { project: "default", workflow: "ci" },
  { project: "default", state: "failed" },
  { project: "default", trigger: "push", state: "failed" },
  { project: "default", trigger: "push", workflow: "ci" },
  { state: "pending" },
  { state: "running", trigger: "push", project: "default" },
  { state: "failed", since: 1_700_000_000_000 },
  { trigger: "push" },
  { workflow: "ci" },
  { before: "01J" },
  { ids: ["01J", "01K"] },
  { ids: ["01J", "01K"], trigger: "push" },
  { ids: ["01J", "01K"], project: "default", trigger: "push" },
  { project: "default", before: "01J", since: 1_700_000_000_000 },
  { oldestFirst: true, after: "01J" },
  { project: "default", oldestFirst: true, after: "01J", until: 1_700_000_000_000 },
  { trigger: "push", to: "01J", before: "01K" },
];

/** By another record, which few tasks belong to. */
const RELATED = ["delivery", "parent", "retryOf", "session"].flatMap((field) =>
  [{}, { project: "default", state: "failed" }, { before: "01K", oldestFirst: true }]
    .map((more) => Object.assign({ [field]: "01J" }, more))
);

for (const query of [...QUERIES, ...RELATED]) {
  Deno.test(`listTasks ${JSON.stringify(query)}: by an index, in its order`, async () => {
    await watched(async (db) => {
      await useTasks(db);
      db.plans();
      await METHODS.listTasks(db, { limit: 5, ...query });
      const plans = db.plans();
      ok(plans.length > 0);
      deepEqual(plans.filter(isGrowing), []);
    });
  });
}

for (const query of QUERIES.filter((one) => !("state" in one || "workflow" in one))) {
  Deno.test(`listDeliveries ${JSON.stringify(query)}: by an index, in its order`, async () => {
    await watched(async (db) => {
      await METHODS.listDeliveries(db, { limit: 5, ...query });
      await Promise.resolve();
      deepEqual(db.plans().filter(isGrowing), []);
    });
  });
}

Deno.test("retention: no statement grows with what is stored", async () => {
  await watched(async (db) => {
    await useTasks(db);
    db.plans();
    await METHODS.pruneTasks(db, { before: 1, keep: 1, limit: 3 });
    await METHODS.pruneTasks(db, { before: 1e15, keep: 1, limit: 3 });
    await METHODS.pruneDeliveries(db, { before: 1e15, limit: 3 });
    const plans = db.plans();
    ok(plans.some(({ sql }) => sql.startsWith("DELETE FROM tasks")));
    deepEqual(plans.filter(isGrowing), []);
  });
});
