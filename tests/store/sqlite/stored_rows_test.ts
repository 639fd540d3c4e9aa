/**
 * Rows that the interface does not show: plans are stored once and go with their last task, and
 * nothing that belongs to a task or an event outlives it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import { rowsOf } from "../../helpers/sqlite_file.ts";
import { accept, PLAN, readMessages, taskIdOf } from "../../helpers/store_records.ts";
import { tempStore } from "../../helpers/temp_store.ts";

const OTHER = { hash: "h2", json: '{"steps":[{"id":"only"}]}' };

/** The values of the first column. */
const column = (path: string, sql: string) => rowsOf(path, sql).map((row) => Object.values(row)[0]);

Deno.test("a plan is stored once, however many tasks have it", async () => {
  await using temp = await tempStore();
  const { store, path } = temp;
  await Promise.all(Array.from({ length: 50 }, (_, n) => accept(store, n)));
  await accept(store, 60, { plan: OTHER });
  equal(rowsOf(path, "SELECT * FROM plans").length, 2);
});

Deno.test("a plan lives as long as tasks have it", async () => {
  await using temp = await tempStore();
  const { store, path } = temp;
  await accept(store, 1);
  await accept(store, 2, { plan: { hash: "h2", json: '{"steps":[]}' } });
  await store.retryTask({
    by: { called: "ada" },
    id: taskIdOf(5),
    of: await endedTask(store, 1),
    kept: [],
    keepDirectory: false,
    staysOnNode: false,
    now: 5,
  });
  const uses = () =>
    rowsOf(path, "SELECT hash, tasks FROM plan_uses ORDER BY hash").map((row) =>
      Object.values(row)
    );
  deepEqual(uses(), [[PLAN.hash, 2], ["h2", 1]]);
  equal(rowsOf(path, "SELECT * FROM plans").length, 2);
});

async function endedTask(store: Store, n: number): Promise<string> {
  await store.cancelTask(taskIdOf(n), { reason: "", now: 1 });
  return taskIdOf(n);
}

Deno.test("the plan of a retried task is counted once its first one is gone", async () => {
  await using temp = await tempStore();
  const { store, path } = temp;
  await accept(store, 1);
  await store.retryTask({
    by: { called: "ada" },
    id: taskIdOf(2),
    of: await endedTask(store, 1),
    kept: [],
    keepDirectory: false,
    staysOnNode: false,
    now: 5,
  });
  equal((await store.pruneTasks({ before: 1e15, limit: 9 })).length, 1);
  deepEqual(rowsOf(path, "SELECT * FROM plan_uses").map((row) => ({ ...row })), [
    { hash: PLAN.hash, tasks: 1 },
  ]);
});

Deno.test("a plan that debouncing replaced is gone", async () => {
  await using temp = await tempStore();
  const { store, path } = temp;
  const debounce = { key: "", forMs: 1000 };
  await accept(store, 1, { task: { debounce } });
  await accept(store, 2, { task: { debounce }, plan: OTHER });
  deepEqual(column(path, "SELECT hash FROM plans"), [OTHER.hash]);
});

Deno.test("pruneTasks leaves no row of a task", async () => {
  await using temp = await tempStore();
  const { store, path } = temp;
  await accept(store, 1, { task: { dedupKey: "k1" } });
  await accept(store, 2, { task: { dedupKey: "k2" }, plan: OTHER });
  await store.claimTasks(9, 1);
  for (const n of [1, 2]) {
    await store.addToInbox(taskIdOf(n), { n }, 1);
    await readMessages(store, n, 1);
  }
  await store.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: 9 });
  equal((await store.pruneTasks({ before: 10, limit: 9 })).length, 1);
  for (const table of ["steps", "inbox", "dedup_keys"]) {
    deepEqual(column(path, `SELECT task_id FROM ${table}`), [taskIdOf(2)], table);
  }
  for (const table of ["plans", "plan_uses"]) {
    deepEqual(column(path, `SELECT hash FROM ${table}`), [OTHER.hash], table);
  }
});

Deno.test("keys of events are not kept once they are too old to tell repetitions", async () => {
  await using temp = await tempStore();
  const { store, path } = temp;
  for (let n = 0; n < 50; n++) {
    await accept(store, n, { receivedAt: n * 100, task: { dedupKey: `k${n}` } });
  }
  ok(rowsOf(path, "SELECT * FROM dedup_keys").length <= 12, "those of the last second");
});
