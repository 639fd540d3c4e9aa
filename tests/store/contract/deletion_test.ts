/**
 * Deletion of one delivery or task with its content: what goes, what stays, what is refused, and
 * that an event stays known.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import type { NewDeliveries } from "../../../src/store/delivery_records.ts";
import type { Store } from "../../../src/store/store.ts";
import { eventIdOf, sourceEvent } from "../../helpers/source_event_records.ts";
import {
  accept,
  acceptBatch,
  eventOf,
  filterOut,
  idOf,
  newDelivery,
  readMessages,
  retry,
  step,
  taskIdOf,
} from "../../helpers/store_records.ts";
import { DEMAND, IGNORED, startTask } from "./chat_tasks.ts";
import { eachStore } from "./each_store.ts";
import { ended } from "./pruned_tasks.ts";

const REALLY = { dryRun: false };
const CASCADE = { cascade: true, dryRun: false };
const ALONE = { cascade: false, dryRun: false };

const delivery = (n: number) => `delivery/${idOf(n)}`;
const task = (n: number) => `task/${taskIdOf(n)}`;

async function end(store: Store, n: number, state: "succeeded" | "failed" = "succeeded") {
  await store.claimTasks(99, 1);
  await store.finishTask({ taskId: taskIdOf(n), state, reason: "", now: 9 });
}

const message = (n: number) => ({
  id: idOf(n),
  project: "default",
  connection: "c",
  kind: "github-comment",
  target: { number: 1 },
  key: "",
  body: { text: "what was said" },
  taskId: taskIdOf(1),
  now: 1,
});

eachStore("deleteDelivery removes what its filter held back, and nothing else", async (store) => {
  await filterOut(store, 1);
  await filterOut(store, 2);
  deepEqual(await store.deleteDelivery(idOf(1), ALONE), {
    deleted: [delivery(1)],
    keptBy: [],
    tasks: [],
  });
  equal(await store.readDelivery(idOf(1)), undefined);
  deepEqual((await store.listDeliveries({ limit: 9 })).map(({ id }) => id), [idOf(2)]);
  await rejects(store.deleteDelivery(idOf(1), ALONE), { code: "not_found" });
});

eachStore(
  "deleteDelivery asks for --cascade while there are tasks, then takes all",
  async (store) => {
    await acceptBatch(store, 1, { tasks: [1, 2] });
    await end(store, 1, "failed");
    await end(store, 2);
    await retry(store, 3, 1);
    await end(store, 3);
    await accept(store, 4);
    await rejects(store.deleteDelivery(idOf(1), ALONE), (error: Error & { details: unknown }) => {
      equal(
        error.message,
        `Nothing was deleted: 3 tasks have the content of delivery ${idOf(1)}; ` +
          "add --cascade to delete them, too",
      );
      deepEqual(error.details, [
        `${task(1)}  failed`,
        `${task(2)}  succeeded`,
        `${task(3)}  succeeded`,
      ]);
      return true;
    });
    const all = [delivery(1), task(1), task(2), task(3)];
    deepEqual((await store.deleteDelivery(idOf(1), { cascade: true, dryRun: true })).deleted, all);
    equal((await store.listTasks({ limit: 9 })).length, 4, "a dry run changes nothing");
    const done = await store.deleteDelivery(idOf(1), CASCADE);
    deepEqual([done.deleted, done.keptBy], [all, []]);
    deepEqual(done.tasks.map(({ id }) => id).toSorted(), [1, 2, 3].map(taskIdOf));
    deepEqual((await store.listTasks({ limit: 9 })).map(({ id }) => id), [taskIdOf(4)]);
    deepEqual((await store.listDeliveries({ limit: 9 })).map(({ id }) => id), [idOf(4)]);
  },
);

eachStore("deleteTask takes all of a task, and says who keeps its content", async (store) => {
  await accept(store, 1);
  await end(store, 1, "failed");
  await retry(store, 2, 1);
  await store.saveStep(taskIdOf(1), step(0, "succeeded"));
  await store.setTaskDirectory(taskIdOf(1), "/data/copies/1");
  await store.addToOutbox([message(50)]);
  await store.claimMessages({ limit: 9, now: 5, busy: [] });
  await store.finishMessage(idOf(50), { state: "sent", externalId: "7" }, 6);
  deepEqual(await store.deleteTask(taskIdOf(1), REALLY), {
    deleted: [task(1)],
    keptBy: [delivery(1), task(2)],
    tasks: [{ id: taskIdOf(1), directory: "/data/copies/1" }],
  });
  deepEqual(await store.findTasks(taskIdOf(1)), []);
  deepEqual(await store.listMessages({ limit: 9 }), []);
  equal((await store.claimTasks(9, 1)).tasks.length, 1, "the plan is still that of its retry");
  await rejects(store.deleteTask(taskIdOf(1), REALLY), { code: "not_found" });
});

eachStore(
  "nothing is deleted that runs, waits, has only just ended or is to be sent",
  async (store) => {
    const refused = async (why: RegExp) => {
      await rejects(store.deleteTask(taskIdOf(1), REALLY), { code: "conflict", message: why });
      await rejects(store.deleteDelivery(idOf(1), CASCADE), { code: "conflict", message: why });
      await rejects(store.deleteDelivery(idOf(1), { cascade: true, dryRun: true }), {
        message: why,
      });
      equal((await store.findTasks(taskIdOf(1))).length, 1);
      equal((await store.readDelivery(idOf(1)))?.delivery.id, idOf(1));
    };
    await accept(store, 1);
    await refused(/is pending: cancel it first, with "svc task cancel 01J0/);
    await store.claimTasks(9, 1);
    await refused(/is running: cancel it first/);
    await store.finishTask({
      taskId: taskIdOf(1),
      state: "failed",
      reason: "",
      now: 9,
      followed: true,
    });
    await refused(/has only just ended/);
    await store.forgetTaskEnd(taskIdOf(1), [message(50)]);
    await refused(/outbox\/01HZ.* waits to be sent/);
    await store.dropMessage(idOf(50), { reason: "", now: 9 });
    equal((await store.deleteDelivery(idOf(1), CASCADE)).tasks.length, 1);
  },
);

eachStore(
  "an event whose task had succeeded stays a duplicate when that is deleted",
  async (store) => {
    const keyed = (n: number, key: string) =>
      accept(store, n, { task: { dedupKey: key }, receivedAt: 1000 + n });
    await keyed(1, "done");
    await keyed(2, "failed");
    await end(store, 1);
    await end(store, 2, "failed");
    await store.deleteDelivery(idOf(1), CASCADE);
    await store.deleteTask(taskIdOf(2), REALLY);
    await ended(store, 9, { at: 20, receivedAt: 1000 });
    equal((await store.pruneTasks({ before: 30, limit: 9 })).length, 1, "which also removes keys");
    deepEqual(await keyed(3, "done"), {
      outcome: "duplicate",
      reason: `seen before, in delivery ${idOf(1)}, which came 2ms earlier`,
      duplicateOf: idOf(1),
    });
    equal((await keyed(4, "failed"))?.outcome, "accepted", "as before the deletion");
    const late = { task: { dedupKey: "done" }, receivedAt: 3000 };
    equal((await accept(store, 5, late))?.outcome, "accepted", "its window is over");
  },
);

eachStore("what several triggers share stays with the others, and that is said", async (store) => {
  const content = { headers: { a: "b" }, body: new Uint8Array([1, 0, 255]), url: "http://a/x" };
  const given: NewDeliveries = {
    content,
    dedupWindowMs: 1,
    dedupKeepMs: 1,
    deliveries: [1, 2, 3].map((n) => {
      const { delivery, events } = newDelivery(n, { trigger: `t${n}` }, [
        eventOf(n, { trigger: `t${n}` }),
      ]);
      return { delivery, events };
    }),
  };
  await store.recordDeliveries(given);
  for (const n of [1, 2, 3]) await end(store, n);
  deepEqual((await store.deleteDelivery(idOf(3), CASCADE)).keptBy, [delivery(1), delivery(2)]);
  for (const n of [1, 2]) deepEqual((await store.readDelivery(idOf(n)))?.content, content);
  await retry(store, 11, 1);
  deepEqual([...(await store.claimTasks(9, 1)).tasks[0]?.payload ?? []], [1, 0, 255]);
  deepEqual((await store.deleteDelivery(idOf(2), CASCADE)).keptBy, [delivery(1)]);
  deepEqual((await store.readDelivery(idOf(1)))?.content, content);
});

eachStore("the content of a chat event goes, the event stays known", async (store) => {
  await startTask(store, 1, { receivedAt: 10 });
  await end(store, 1);
  await rejects(store.deleteDelivery(idOf(1), ALONE), { code: "conflict" });
  deepEqual((await store.deleteDelivery(idOf(1), CASCADE)).deleted, [delivery(1), task(1)]);
  const [event] = await store.listSourceEvents({ limit: 9 });
  deepEqual([event?.text, event?.actor, event?.taskId, event?.state, event?.reason], [
    "",
    "",
    "",
    "routed",
    "its content was deleted",
  ]);
  deepEqual(await store.listBindings({ limit: 9 }), []);
  const again = sourceEvent(2, { externalEventId: "Ev1", topLevel: true });
  equal((await store.recordSourceEvent(again)).status, "duplicate");

  await store.recordSourceEvent(sourceEvent(5));
  await rejects(store.deleteDelivery(idOf(5), ALONE), /is not routed yet/);
  await store.claimSourceEvents(DEMAND);
  await store.routeSourceEvent(eventIdOf(5), IGNORED, 1);
  await store.deleteDelivery(idOf(5), ALONE);
  equal(await store.replaySourceEvent(eventIdOf(5), 9), false, "there is nothing to route");
});

eachStore("a reply goes from the inbox of the task that it went to", async (store) => {
  await startTask(store, 1, { receivedAt: 10 });
  for (const n of [2, 3]) {
    await store.recordSourceEvent(sourceEvent(n, { threadId: "1" }));
    await store.claimSourceEvents(DEMAND);
    const said = { source_event_id: eventIdOf(n), text: `text ${n}` };
    const bound = { taskId: taskIdOf(1), boundTo: taskIdOf(1) };
    const to = { to: "inbox", ...bound, message: said } as const;
    await store.routeSourceEvent(eventIdOf(n), to, 1);
  }
  await rejects(store.deleteDelivery(idOf(2), ALONE), /is pending: cancel it first/);
  await readMessages(store, 1, 2);
  await end(store, 1);
  deepEqual((await store.deleteDelivery(idOf(2), ALONE)).deleted, [delivery(2)]);
  deepEqual((await store.listInbox(taskIdOf(1))).map((one) => one.message["text"]), ["text 3"]);
  deepEqual((await store.deleteTask(taskIdOf(1), REALLY)).keptBy, [delivery(1), delivery(3)]);
  const texts = (await store.listSourceEvents({ limit: 9 })).map(({ text }) => text);
  deepEqual(texts, ["", "", ""]);
});
