/**
 * What is stored is announced: by the store itself, so that every way in wakes those that wait.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { EventHub } from "../../src/base/event_hub.ts";
import { withAnnouncements } from "../../src/store/store_methods.ts";
import type { DaemonEvents } from "../../src/store/events.ts";
import type { Store } from "../../src/store/store.ts";
import { accept, idOf, taskIdOf } from "../helpers/store_records.ts";
import { tempStore } from "../helpers/temp_store.ts";

const NAMES = [
  "recordsChanged",
  "tasksStored",
  "taskEndsStored",
  "sourceEventsStored",
  "sourceEventRouted",
  "messagesStored",
  "messageEnded",
  "resourcesStored",
  "taskStopping",
  "inboxFilled",
] as (keyof DaemonEvents)[];

function announcing(store: Store) {
  const events = new EventHub<DaemonEvents>({ error: (_, fields) => void told.push(fields) });
  const told: unknown[] = [];
  for (const name of NAMES) events.on(name, (event) => void told.push([name, event]));
  return { store: withAnnouncements(store, events), told, take: () => told.splice(0) };
}

Deno.test("a task is announced as it is stored, claimed, changed and ended; a failed write is not", async () => {
  await using temp = await tempStore();
  const { store, take } = announcing(temp.store);
  const [id, record] = [taskIdOf(1), "task"];
  await accept(store, 1);
  deepEqual(take(), [
    ["recordsChanged", { record: "delivery", id: idOf(1) }],
    ["recordsChanged", { record, id }],
    ["tasksStored", { replaced: [] }],
  ]);
  await store.claimTasks(5, 1);
  deepEqual(take(), [["recordsChanged", { record, id }]]);
  await store.claimTasks(5, 1);
  await store.listTasks({ limit: 1 });
  deepEqual(take(), [], "nothing was claimed, and a list changes nothing");
  await store.saveStep(id, { position: 0, id: "build", state: "running", reason: "" });
  deepEqual(take(), [["recordsChanged", { record, id }]]);
  await rejects(
    store.retryTask({
      by: { called: "ada" },
      id: taskIdOf(2),
      of: id,
      now: 1,
      kept: [],
      keepDirectory: false,
      staysOnNode: false,
    }),
  );
  deepEqual(take(), []);
  const end = { taskId: id, state: "failed", reason: "", now: 1 } as const;
  equal(await store.finishTask(end), true);
  deepEqual(take(), [["recordsChanged", { record, id }]]);
  equal(await store.finishTask(end), false);
  deepEqual(take(), []);
});

Deno.test("the end of a task that triggers follow is announced, however it ends", async () => {
  await using temp = await tempStore();
  const { store, take } = announcing(temp.store);
  const ends = () =>
    take().filter((one) => Array.isArray(one) && one[0] === "taskEndsStored").length;
  for (const n of [1, 2, 3]) await accept(store, n);
  equal(ends(), 0);
  await store.cancelTask(taskIdOf(3), { reason: "", now: 1, followed: true });
  equal(ends(), 1);
  await store.claimTasks(5, 1);
  for (const [n, followed] of [[1, true], [2, false]] as const) {
    await store.finishTask({ taskId: taskIdOf(n), state: "failed", reason: "", now: 1, followed });
  }
  equal(ends(), 1);
});

Deno.test("a task that replaces a running one says which has to end, before the caller goes on", async () => {
  await using temp = await tempStore();
  const { store, told, take } = announcing(temp.store);
  const task = { concurrency: { policy: "Replace", key: "", max: 1 } } as const;
  await accept(store, 1, { task });
  await store.claimTasks(1, 1);
  take();
  const outcome = await accept(store, 2, { task }).finally(() => told.push("the caller"));
  deepEqual(outcome?.replaces, [taskIdOf(1)]);
  deepEqual(take().slice(-2), [["tasksStored", { replaced: [taskIdOf(1)] }], "the caller"]);
});

/** Tasks may be ready now. */
const WAKES = ["tasksStored", { replaced: [] }];

Deno.test("what a running task has to hear of is announced, and that resources were stored", async () => {
  await using temp = await tempStore();
  const { store, take } = announcing(temp.store);
  const [taskId, record] = [taskIdOf(1), "task"];
  await accept(store, 1);
  await store.claimTasks(1, 1);
  take();
  await store.addToInbox(taskId, {}, 1);
  deepEqual(take(), [["recordsChanged", { record, id: taskId }], ["inboxFilled", { taskId }]]);
  await store.cancelTask(taskId, { reason: "", now: 1 });
  deepEqual(take(), [["recordsChanged", { record, id: taskId }], ["taskStopping", {
    taskId,
    reason: "",
  }], WAKES]);
  await store.endTurn(taskId, 5);
  deepEqual(take(), [["recordsChanged", { record, id: taskId }], WAKES]);
  await store.noteLimit({ project: "p", agent: "a", until: 9, reason: "" }, 1);
  deepEqual(take(), [WAKES]);
  await store.addToInbox(taskIdOf(9), {}, 1);
  deepEqual(take(), []);
  await store.changeResources([]);
  deepEqual(take(), [["resourcesStored", undefined]]);
});

Deno.test("messages are announced as they are stored, in every way, and when they end", async () => {
  await using temp = await tempStore();
  const { store, take } = announcing(temp.store);
  const id = idOf(1);
  const message = { id, project: "p", connection: "", kind: "k", target: {}, key: "", body: {} };
  await accept(store, 1, { plan: undefined, task: { followed: true } });
  take();
  await store.forgetTaskEnd(taskIdOf(1), []);
  deepEqual(take(), []);
  await store.addToOutbox([{ ...message, taskId: "", now: 1 }]);
  const stored = [["recordsChanged", { record: "outbox", id }], ["messagesStored", undefined]];
  deepEqual(take(), stored);
  await store.claimMessages({ limit: 1, now: 5, busy: [] });
  deepEqual(take(), [stored[0]]);
  const sent = await store.finishMessage(id, { state: "sent", externalId: "" }, 9);
  deepEqual(take(), [["recordsChanged", { record: "outbox", id }], ["messageEnded", sent]]);
  await store.retryMessage(id, { now: 9, forget: false });
  deepEqual(take(), [], "nothing was changed");
});
