/**
 * Room in a group (`concurrency`), decided where tasks are stored: however many come at once, and
 * in whatever order they end, a group is never over its limit.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { EventOutcome } from "../../../src/store/delivery_records.ts";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, range } from "./each_store.ts";
import { claim, finish, grouped, inState } from "./grouped_tasks.ts";

const outcomesOf = (outcomes: readonly (EventOutcome | undefined)[]) =>
  Object.fromEntries(
    Object.entries(Object.groupBy(outcomes, (one) => one?.outcome ?? ""))
      .map(([outcome, some]) => [outcome, some?.length]),
  );

for (const max of [1, 3]) {
  eachStore(`Forbid, max ${max}: of 200 deliveries at once exactly ${max} start`, async (store) => {
    const outcomes = await Promise.all(
      range(0, 200).map((n) => accept(store, n, grouped("Forbid", { max }))),
    );
    deepEqual(outcomesOf(outcomes), { accepted: max, skipped: 200 - max });
    deepEqual(await claim(store), range(0, max));
    equal((await store.listTasks({ limit: 999 })).length, max);
    equal((await store.listDeliveries({ limit: 999 })).length, 200, "each has its record");
  });
}

eachStore(
  "Forbid says which task is in the way, and starts again when that has ended",
  async (store) => {
    await accept(store, 1, grouped("Forbid"));
    const reason = `concurrency: task ${taskIdOf(1)} has not ended`;
    deepEqual(await accept(store, 2, grouped("Forbid")), { outcome: "skipped", reason });
    await claim(store);
    equal((await accept(store, 3, grouped("Forbid")))?.outcome, "skipped", "while it runs");
    await store.requeueTask(taskIdOf(1), { now: 5 });
    equal((await accept(store, 4, grouped("Forbid")))?.outcome, "skipped", "interrupted");
    await claim(store);
    await finish(store, 1);
    equal((await accept(store, 5, grouped("Forbid")))?.outcome, "accepted");
    deepEqual(await claim(store), [5]);
  },
);

eachStore("a group is that of one project, trigger and key", async (store) => {
  const outcomes = await Promise.all([
    accept(store, 1, grouped("Forbid", { key: "a" })),
    accept(store, 2, grouped("Forbid", { key: "b" })),
    accept(store, 3, { ...grouped("Forbid", { key: "a" }), trigger: "other" }),
    accept(store, 4, { ...grouped("Forbid", { key: "a" }), project: "other" }),
    accept(store, 5, grouped("Forbid", { key: "" })),
    accept(store, 6, {}),
  ]);
  deepEqual(outcomesOf(outcomes), { accepted: 6 });
  const more = range(11, 16).map((n) => accept(store, n, grouped("Forbid", { key: "a" })));
  deepEqual(outcomesOf(await Promise.all(more)), { skipped: 5 });
  deepEqual(await claim(store), [1, 2, 3, 4, 5, 6]);
});

eachStore("Queue runs one after the other, in order", async (store) => {
  await Promise.all(range(0, 50).map((n) => accept(store, n, grouped("Queue"))));
  const order: number[] = [];
  for (let running = await claim(store); running.length > 0; running = await claim(store)) {
    equal(running.length, 1);
    order.push(...running);
    deepEqual(await claim(store), [], "no other while it runs");
    await Promise.all(running.map((n) => finish(store, n)));
  }
  deepEqual(order, range(0, 50));
});

eachStore("Queue, max 2: two at a time, the oldest first", async (store) => {
  await Promise.all(range(0, 6).map((n) => accept(store, n, grouped("Queue", { max: 2 }))));
  deepEqual(await claim(store), [0, 1]);
  await finish(store, 1);
  deepEqual(await claim(store), [2]);
  await Promise.all([finish(store, 0), finish(store, 2)]);
  deepEqual(await claim(store), [3, 4]);
  await store.cancelTask(taskIdOf(5), { reason: "no", now: 1 });
  await Promise.all([finish(store, 3), finish(store, 4)]);
  deepEqual(await claim(store), []);
});

eachStore("a queue lets in more as soon as its trigger allows more", async (store) => {
  await Promise.all(range(0, 5).map((n) => accept(store, n, grouped("Queue"))));
  deepEqual(await claim(store), [0]);
  await accept(store, 5, grouped("Queue", { max: 3 }));
  deepEqual(await claim(store), [1, 2], "in their order");
  await finish(store, 0);
  deepEqual(await claim(store), [3]);
});

eachStore("Replace cancels what waits at once, and names what runs to be ended", async (store) => {
  await accept(store, 1, grouped("Replace"));
  const second = await accept(store, 2, grouped("Replace"));
  deepEqual(second, { outcome: "accepted", reason: "", taskId: taskIdOf(2) });
  const [first] = await store.findTasks(taskIdOf(1));
  deepEqual([first?.state, first?.reason], ["cancelled", `replaced by task ${taskIdOf(2)}`]);
  deepEqual(await claim(store), [2]);
  const third = await accept(store, 3, grouped("Replace"));
  deepEqual(third?.replaces, [taskIdOf(2)]);
  deepEqual(await claim(store), [], "until the old one is gone");
  const fourth = await accept(store, 4, grouped("Replace"));
  equal(fourth?.replaces, undefined, "the running one has been told");
  deepEqual(await inState(store, "cancelled"), [1, 3]);
  await store.finishTask({ taskId: taskIdOf(2), state: "cancelled", reason: "", now: 9 });
  const [replaced] = await store.findTasks(taskIdOf(2));
  equal(replaced?.reason, `replaced by task ${taskIdOf(3)}`, "the first to replace it");
  deepEqual(await claim(store), [4]);
});

eachStore(
  "Replace under 200 deliveries at once, key by key: one is left of each",
  async (store) => {
    const key = (n: number) => String(n % 4);
    const outcomes = await Promise.all(
      range(0, 200).map((n) => accept(store, n, grouped("Replace", { key: key(n) }))),
    );
    deepEqual(outcomesOf(outcomes), { accepted: 200 });
    deepEqual(await claim(store), [196, 197, 198, 199]);
    deepEqual(await inState(store, "cancelled"), range(0, 196));
  },
);

eachStore("Replace, max 2: the oldest make room", async (store) => {
  for (const n of range(0, 4)) await accept(store, n, grouped("Replace", { max: 2 }));
  deepEqual(await inState(store, "cancelled"), [0, 1]);
  deepEqual(await claim(store), [2, 3]);
  deepEqual((await accept(store, 4, grouped("Replace", { max: 2 })))?.replaces, [taskIdOf(2)]);
});

eachStore("a task that misses something replaces nothing and takes no room", async (store) => {
  await accept(store, 1, grouped("Replace"));
  await accept(store, 2, { ...grouped("Replace"), plan: undefined });
  deepEqual(await claim(store), [1]);
  deepEqual(await inState(store, "failed"), [2]);
  await accept(store, 3, { ...grouped("Queue", { key: "q" }), plan: undefined });
  await accept(store, 4, grouped("Queue", { key: "q" }));
  deepEqual(await claim(store), [4]);
});
