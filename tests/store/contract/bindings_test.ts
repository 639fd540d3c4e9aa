/**
 * Threads of a chat and the tasks they belong to.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { Binding } from "../../../src/store/source_event_records.ts";
import { eventIdOf, sourceEvent } from "../../helpers/source_event_records.ts";
import { accept, idOf, readMessages, taskIdOf } from "../../helpers/store_records.ts";
import { DEMAND, startTask, toTask } from "./chat_tasks.ts";
import { eachStore } from "./each_store.ts";

function binding(n: number): Omit<Binding, "createdAt"> {
  return {
    id: eventIdOf(n),
    project: "default",
    trigger: "chat",
    installationId: "A1/T1",
    conversationId: "C1",
    threadId: `thread ${n}`,
    taskId: taskIdOf(n),
    updatedAt: n,
  };
}

eachStore(
  "an event that starts a task binds its thread, and a reply finds that task",
  async (store) => {
    await startTask(store, 1);
    const thread = await store.findThreadOfTask(taskIdOf(1));
    deepEqual([thread?.installationId, thread?.conversationId, thread?.threadId], [
      "A1/T1",
      "C1",
      "1",
    ]);
    equal((await store.findEventOfDelivery(idOf(1)))?.taskId, taskIdOf(1));
    await store.recordSourceEvent(sourceEvent(2, { threadId: "1" }));
    const { events: [reply] } = await store.claimSourceEvents(DEMAND);
    deepEqual([reply?.event.id, reply?.bound], [eventIdOf(2), {
      id: taskIdOf(1),
      state: "pending",
    }]);
    const routed = await store.routeSourceEvent(eventIdOf(2), {
      to: "inbox",
      taskId: taskIdOf(1),
      message: { text: "more" },
      boundTo: taskIdOf(1),
    }, 5);
    deepEqual([routed.state, routed.taskId, routed.message?.position], ["routed", taskIdOf(1), 0]);
    deepEqual((await store.listInbox(taskIdOf(1))).map(({ message }) => message), [{
      text: "more",
    }]);
  },
);

eachStore(
  "replies that no step was given are routed again when their task has ended",
  async (store) => {
    await startTask(store, 1);
    const reply = async (n: number) => {
      await store.recordSourceEvent(sourceEvent(n, { threadId: "1" }));
      await store.claimSourceEvents(DEMAND);
      const bound = { taskId: taskIdOf(1), boundTo: taskIdOf(1) };
      const message = { source_event_id: eventIdOf(n), text: `text ${n}` };
      await store.routeSourceEvent(eventIdOf(n), { to: "inbox", ...bound, message }, n);
    };
    for (const n of [2, 3, 4]) await reply(n);
    await store.claimTasks(1, 1);
    await readMessages(store, 1, 1);
    const taskId = taskIdOf(1);
    equal(
      await store.finishTask({ taskId, state: "succeeded", reason: "", now: 9 }),
      "unread",
    );
    equal(await store.replayUnread(taskId, 10), 2);
    equal(await store.replayUnread(taskId, 11), 0, "once");
    const claim = async () => (await store.claimSourceEvents(DEMAND)).events;
    const [first, ...others] = await claim();
    deepEqual([first?.event.id, first?.bound?.state, others], [eventIdOf(3), "succeeded", []]);
    await store.routeSourceEvent(eventIdOf(3), { ...toTask(5), boundTo: taskId }, 12);
    equal((await claim())[0]?.bound?.id, taskIdOf(5), "the next one goes to the follow-up");
  },
);

eachStore(
  "bindThread binds a thread to another task and keeps when it was first bound",
  async (store) => {
    await accept(store, 1);
    for (const n of [1, 2]) await store.bindThread(binding(n));
    const before = (await store.findBindings(eventIdOf(1)))[0];
    await store.bindThread({ ...binding(1), id: eventIdOf(9), taskId: taskIdOf(2), updatedAt: 90 });
    const all = await store.listBindings({ limit: 9 });
    deepEqual(all.map(({ threadId, taskId }) => [threadId, taskId]).toSorted(), [
      ["thread 1", taskIdOf(2)],
      ["thread 2", taskIdOf(2)],
    ]);
    const bound = all.find(({ threadId }) => threadId === "thread 1");
    deepEqual([bound?.createdAt, bound?.updatedAt], [before?.createdAt, 90]);
  },
);

eachStore(
  "listBindings and findBindings: newest first, by project and trigger, by prefix",
  async (store) => {
    for (const n of [1, 2, 3]) await store.bindThread(binding(n));
    await store.bindThread({ ...binding(4), project: "shop" });
    const list = async (query: Parameters<typeof store.listBindings>[0]) =>
      (await store.listBindings(query)).map(({ id }) => Number(id.slice(-1)));
    deepEqual(await list({ limit: 9 }), [4, 3, 2, 1]);
    deepEqual(await list({ limit: 2, before: eventIdOf(4) }), [3, 2]);
    deepEqual(await list({ limit: 9, project: "shop" }), [4]);
    deepEqual(await list({ limit: 9, project: "default", trigger: "none" }), []);
    equal((await store.findBindings("01G")).length, 2, "enough to tell one from several");
    deepEqual((await store.findBindings(eventIdOf(3))).map(({ threadId }) => threadId), [
      "thread 3",
    ]);
  },
);
