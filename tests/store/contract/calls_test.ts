/**
 * Calls of the store: each is carried out whole or not at all, those of one kind in the order they
 * were made, and all that were made before it closes.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import type { Claim } from "../../../src/store/task_records.ts";
import { accept, countsOf, idOf, taskIdOf } from "../../helpers/store_records.ts";
import { within } from "../../helpers/within.ts";
import { eachStore, range } from "./each_store.ts";

const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);

const taskIds = ({ tasks }: Claim) => tasks.map(({ task }) => task.id);

eachStore("many calls at once are all carried out", async (store) => {
  await Promise.all(range(0, 2000).map((n) => accept(store, n)));
  deepEqual(await countsOf(store), { pending: 2000, running: 0 });
  deepEqual(ids(await store.listTasks({ limit: 9999 })), range(0, 2000).map(taskIdOf).toReversed());
});

eachStore("one failing call in a batch spoils no other", async (store) => {
  await accept(store, 0);
  const bad = (n: number) => n % 10 === 5;
  const results = await Promise.allSettled(
    range(1, 101).map((n) => bad(n) ? accept(store, n, { taskId: taskIdOf(0) }) : accept(store, n)),
  );
  deepEqual(
    results.map(({ status }) => status),
    range(1, 101).map((n) => bad(n) ? "rejected" : "fulfilled"),
  );
  deepEqual(
    ids(await store.listDeliveries({ limit: 999 })),
    range(0, 101).filter((n) => !bad(n)).map(idOf).toReversed(),
  );
});

eachStore("a failing call undoes nothing that was answered before it", async (store) => {
  const accepted = range(0, 20).map((n) => accept(store, n));
  const bad = accept(store, 99, { taskId: taskIdOf(0) });
  await Promise.all(accepted);
  await rejects(bad);
  deepEqual(taskIds(await store.claimTasks(5, 1)), range(0, 5).map(taskIdOf));
  const results = await Promise.allSettled([
    store.finishTask({ taskId: taskIdOf(0), state: "succeeded", reason: "", now: 2 }),
    accept(store, 99, { taskId: taskIdOf(0) }),
    store.claimTasks(5, 1).then(taskIds),
  ]);
  deepEqual(results, [
    { status: "fulfilled", value: true },
    results[1],
    { status: "fulfilled", value: range(5, 10).map(taskIdOf) },
  ]);
  equal(results[1]?.status, "rejected");
  deepEqual(await countsOf(store), { pending: 10, running: 9 });
});

eachStore("closing lets everything finish that was asked before", async (store, { restart }) => {
  const calls = range(0, 500).map((n) => accept(store, n));
  const again = await restart();
  await Promise.all(calls);
  equal((await again.listTasks({ limit: 999 })).length, 500);
});

eachStore("a closed store refuses calls, and may be closed again", async (store, { restart }) => {
  await restart();
  await rejects(within(2000, store.counts()), { code: "overloaded" });
  await within(2000, store[Symbol.asyncDispose]());
});

eachStore(
  "a store is a plain object: a copy of it with a method replaced is a store",
  async (store) => {
    const copy: Store = { ...store, counts: () => Promise.reject(new Error("replaced")) };
    await accept(copy, 1);
    deepEqual(ids(await store.listTasks({ limit: 9 })), [taskIdOf(1)]);
    await rejects(copy.counts(), /replaced/);
    equal(copy.failed, store.failed);
    equal(copy[Symbol.asyncDispose], store[Symbol.asyncDispose]);
  },
);
