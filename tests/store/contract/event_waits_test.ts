/**
 * Waits for events: how they are found by their key, however many there are, and by what ended them.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import type { WaitPart } from "../../../src/store/wait_records.ts";
import { accept, idOf, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, range } from "./each_store.ts";
import { claimAt, HOUR, SEC, T0 } from "./timed_tasks.ts";

const forEvent = (trigger: string, shape: string, digest: string): WaitPart => ({
  kind: "event",
  dueAt: T0 + HOUR,
  isRelative: true,
  asked: { of: shape },
  key: { trigger, shape, digest },
});

const open = (store: Store, n: number, parts: readonly WaitPart[], now = T0) =>
  store.openWait({
    taskId: taskIdOf(n),
    position: 0,
    round: 1,
    project: "default",
    parts,
    now,
  });

const find = async (store: Store, trigger: string, ...keys: readonly [string, string][]) => {
  const found = await store.findWaits({
    project: "default",
    trigger,
    keys: keys.map(([shape, digest]) => ({ shape, digest })),
  });
  return found.map(({ taskId, part, asked }) => [taskId, part, asked["of"]]).toSorted();
};

async function running(store: Store, count: number): Promise<void> {
  for (const n of range(1, count + 1)) await accept(store, n);
  await claimAt(store, T0);
}

eachStore("waits for events are found by their keys until they are over", async (store) => {
  await running(store, 3);
  deepEqual(await store.listWaitedTriggers(0), []);
  deepEqual(await store.listWaitShapes("default", "ci"), []);
  await open(store, 1, [forEvent("ci", "sha", "a"), forEvent("cd", "sha", "a")], T0 + SEC);
  await open(store, 2, [forEvent("ci", "sha", "a")]);
  await open(store, 3, [forEvent("ci", "branch", "b")]);
  const triggers = await store.listWaitedTriggers(0);
  deepEqual(triggers.toSorted((a, b) => a.trigger < b.trigger ? -1 : 1), [
    { project: "default", trigger: "cd", since: T0 + SEC },
    { project: "default", trigger: "ci", since: T0 },
  ]);
  deepEqual(await store.listWaitShapes("default", "ci"), [
    { shape: "branch", asked: { of: "branch" } },
    { shape: "sha", asked: { of: "sha" } },
  ]);
  deepEqual(await store.listWaitShapes("other", "ci"), []);
  deepEqual(await find(store, "ci", ["sha", "a"], ["branch", "b"], ["branch", "a"]), [
    [taskIdOf(1), 0, "sha"],
    [taskIdOf(2), 0, "sha"],
    [taskIdOf(3), 0, "branch"],
  ]);
  deepEqual(await find(store, "ci", ["sha", "b"]), []);
  const place = { taskId: taskIdOf(1), position: 0, part: 1 };
  const deliveryId = idOf(2);
  const end = { by: "event", deliveryId, outputs: { x: "1" } } as const;
  deepEqual(await store.endWait({ ...place, end, now: T0 + SEC }), { is: "over" });
  deepEqual(await find(store, "ci", ["sha", "a"]), [[taskIdOf(2), 0, "sha"]]);
  deepEqual((await store.listWaitedTriggers(0)).map(({ trigger }) => trigger), ["ci"]);
  deepEqual((await open(store, 1, [])).end, { ...end, at: T0 + SEC, part: 1 });
  const [ended, ...more] = await store.listWaitsOfDeliveries([deliveryId]);
  ok(ended);
  deepEqual(more, []);
  deepEqual(ended, {
    taskId: taskIdOf(1),
    position: 0,
    round: 1,
    deliveryId,
    step: "build",
    at: T0 + SEC,
  });
  deepEqual(await store.listWaitsOfDeliveries([idOf(1)]), []);
});

eachStore("a question is found by its key after its decision, for a time", async (store) => {
  await running(store, 3);
  const key = { trigger: "comments", shape: "comment", digest: "thread" };
  const question = (digest: string): WaitPart => ({
    ...forEvent("comments", "comment", "thread"),
    kind: "approval",
    asked: { digest },
  });
  await open(store, 1, [question("one")]);
  await open(store, 2, [question("two")]);
  await open(store, 3, [forEvent("comments", "comment", "thread")]);
  const found = async (decidedSince?: number, digest = "thread") => {
    const keys = [{ shape: key.shape, digest }];
    const asked = { project: "default", trigger: "comments", keys };
    const more = decidedSince === undefined ? {} : { decidedSince };
    return (await store.findWaits({ ...asked, ...more }))
      .map(({ taskId, isOver }) => [taskId, isOver ?? false]);
  };
  const all = [1, 2, 3].map((n) => [taskIdOf(n), false]);
  deepEqual(await found(0), all);
  for (const n of [1, 3]) {
    const end = { by: "time" } as const;
    const place = { taskId: taskIdOf(n), position: 0 };
    deepEqual(await store.endWait({ ...place, end, now: T0 + SEC }), { is: "over" });
  }
  deepEqual(await found(), [[taskIdOf(2), false]], "only open ones, if nobody asks for others");
  deepEqual(await found(T0 + SEC), [[taskIdOf(2), false], [taskIdOf(1), true]]);
  deepEqual(await found(T0 + SEC + 1), [[taskIdOf(2), false]]);
  deepEqual(await found(0, "another"), []);
  await store.endWaits(taskIdOf(2), T0 + 2 * SEC);
  deepEqual(await store.listWaitedTriggers(0), [
    { project: "default", trigger: "comments", since: T0 + SEC },
  ]);
  deepEqual((await store.listWaitedTriggers(T0 + 2 * SEC))[0]?.since, T0 + 2 * SEC);
  deepEqual(await store.listWaitedTriggers(T0 + 3 * SEC), []);
});

eachStore(
  "a wait for a message begins behind what was read, and ends by the next",
  async (store) => {
    await running(store, 1);
    const taskId = taskIdOf(1);
    const part: WaitPart = { kind: "message", dueAt: T0 + HOUR, isRelative: true };
    const asked = { taskId, project: "default", parts: [part], now: T0 };
    const at = (position: number) => store.openWait({ ...asked, position, round: 1 });
    await store.addToInbox(taskId, { text: "one" }, T0);
    deepEqual((await at(0)).parts[0]?.asked, { from: 0 });
    deepEqual(await store.listFilledInboxes(T0), [taskId]);
    deepEqual(await store.listFilledInboxes(T0 + 1), []);
    const end = { by: "message", position: 0, outputs: { text: "one" } } as const;
    deepEqual(await store.endWait({ taskId, position: 0, end, now: T0 + SEC }), { is: "over" });
    deepEqual(await store.listFilledInboxes(0), []);
    deepEqual((await at(1)).parts[0]?.asked, { from: 1 }, "the first has been read");
  },
);
