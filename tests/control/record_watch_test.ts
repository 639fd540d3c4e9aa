/**
 * Watching records (`svc get --watch`): nothing is missed and nothing is told twice, in a store of
 * more rows than are looked at.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import type { GetInput } from "../../src/api/resource_operations.ts";
import { recordReads } from "../../src/control/records/record_feed.ts";
import { RecordWatch } from "../../src/control/records/record_watch.ts";
import { findRecordType } from "../../src/control/records/records.ts";
import type { Store } from "../../src/store/store.ts";
import type { Task } from "../../src/store/task_records.ts";
import { accept, filterOut, idOf, taskIdOf } from "../helpers/store_records.ts";
import { tempStore } from "../helpers/temp_store.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";

const NOW = 1_700_000_100_000;

function watch(store: Store, input: Partial<GetInput> = {}): RecordWatch {
  const what = input.what ?? "task";
  const sort = findRecordType(what);
  if (sort === undefined) throw new Error(what);
  return new RecordWatch(sort, { what, ...input }, { reads: recordReads(sort, store), now: NOW });
}

const show = (rows: readonly unknown[]) =>
  (rows as Task[]).map(({ id, state }) => `${Number(id.slice(-6))} ${state}`);

async function finish(store: Store, n: number, state: "succeeded" | "failed" = "succeeded") {
  equal(await store.finishTask({ taskId: taskIdOf(n), state, reason: "", now: NOW }), true);
}

async function acceptAll(store: Store, first: number, last: number): Promise<void> {
  const numbers = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  await Promise.all(numbers.map((n) => accept(store, n)));
}

Deno.test("a watch begins with the newest tasks, the oldest first, and goes on with what changes", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  await acceptAll(store, 1, 3);
  const tasks = watch(store, { limit: 2 });
  deepEqual(show(await tasks.start()), ["2 pending", "3 pending"]);
  deepEqual(show(await tasks.read()), []);
  await accept(store, 4);
  await store.claimTasks(2, NOW);
  deepEqual(show(await tasks.read()), ["1 running", "2 running", "4 pending"]);
  deepEqual(show(await tasks.read()), []);
  await finish(store, 2);
  await store.saveStep(taskIdOf(1), { position: 0, id: "build", state: "running", reason: "" });
  deepEqual(show(await tasks.read()), ["1 running", "2 succeeded"]);
  deepEqual(show(await tasks.read()), []);
});

Deno.test("a watch of one state tells what enters it, and what leaves it", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  await acceptAll(store, 1, 4);
  await store.claimTasks(1, NOW);
  const running = watch(store, { state: "running" });
  deepEqual(show(await running.start()), ["1 running"]);
  await accept(store, 5);
  deepEqual(show(await running.read()), []);
  await store.claimTasks(1, NOW);
  await finish(store, 1, "failed");
  deepEqual(show(await running.read()), ["1 failed", "2 running"]);
  await finish(store, 2);
  deepEqual(show(await running.read()), ["2 succeeded"]);
  deepEqual(show(await running.read()), []);
});

Deno.test(
  skippable("a watch misses no task of hundreds, and no end of one that is long past", NOT_SLOW),
  async () => {
    await using temp = await tempStore();
    const { store } = temp;
    await acceptAll(store, 1, 450);
    const tasks = watch(store, { limit: 1 });
    deepEqual(show(await tasks.start()), ["450 pending"]);
    await acceptAll(store, 451, 950);
    equal((await tasks.read()).length, 500);
    const claimed = await store.claimTasks(950, NOW);
    equal(claimed.tasks.length, 950);
    for (let n = 1; n <= 950; n++) await finish(store, n);
    const seen: string[] = [];
    for (let i = 0; i < 10; i++) seen.push(...show(await tasks.read()));
    deepEqual(
      seen.toSorted(),
      Array.from({ length: 950 }, (_, i) => `${i + 1} succeeded`).toSorted(),
    );
  },
);

Deno.test("a watch does not send older records again when newer ones are removed", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  await acceptAll(store, 1, 300);
  await store.claimTasks(300, NOW);
  for (let n = 1; n <= 300; n++) await finish(store, n);
  const tasks = watch(store, { limit: 1 });
  await tasks.start();
  await store.pruneTasks({ before: 0, keep: 50, limit: 1000 });
  deepEqual(show(await tasks.read()), []);
});

Deno.test("an announced record is sent, however late it is stored, and only to the watches that ask for it", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  await acceptAll(store, 100, 450);
  const all = watch(store);
  const pushes = watch(store, { trigger: "push" });
  for (const one of [all, pushes]) await one.start();
  const changed = new Set([5, 6, 451].map(taskIdOf)); // the ids of 5 and 6 were made long ago
  await accept(store, 5, { trigger: "push" });
  await accept(store, 6, { trigger: "other" });
  await accept(store, 451, { trigger: "push" });
  deepEqual(show(await all.read(changed)), ["5 pending", "6 pending", "451 pending"]);
  deepEqual(show(await pushes.read(changed)), ["5 pending", "451 pending"]);
  deepEqual(show(await all.read(changed)), [], "each is told once");
  deepEqual(show(await all.read("quiet")), []);
});

Deno.test("a watch of thousands that are announced one by one tells each once, and forgets them", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  const deliveries = watch(store, { what: "deliveries" });
  await deliveries.start();
  let told = 0;
  for (let n = 1; n <= 1500; n += 100) {
    const numbers = Array.from({ length: 100 }, (_, at) => n + at);
    await Promise.all(numbers.map((one) => filterOut(store, one)));
    told += (await deliveries.read(new Set(numbers.map((one) => idOf(one))))).length;
  }
  equal(told, 1500);
  deepEqual(await deliveries.read("any"), []);
});

Deno.test("a watch of deliveries tells each once", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  await filterOut(store, 1);
  const deliveries = watch(store, { what: "deliveries" });
  equal((await deliveries.start()).length, 1);
  await filterOut(store, 2);
  equal((await deliveries.read()).length, 1);
  equal((await deliveries.read()).length, 0);
});

Deno.test("a watch keeps to its filters, and refuses those it does not know", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  await accept(store, 1, { trigger: "push" });
  await accept(store, 2, { trigger: "other" });
  const tasks = watch(store, { trigger: "push" });
  deepEqual(show(await tasks.start()), ["1 pending"]);
  await accept(store, 3, { trigger: "other" });
  await accept(store, 4, { trigger: "push" });
  deepEqual(show(await tasks.read()), ["4 pending"]);
  await rejects(async () => await watch(store, { what: "deliveries", state: "failed" }).start(), {
    code: "usage",
    message: /^--state is for tasks/,
  });
  await rejects(watch(store, { state: "runing" }).start(), {
    code: "usage",
    message: /^Unknown state "runing": use one of pending, running/,
  });
});
