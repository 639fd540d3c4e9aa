/**
 * Retention of bodies alone and of single triggers: what goes, what stays, what is said afterwards.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import { eventIdOf, sourceEvent } from "../../helpers/source_event_records.ts";
import {
  accept,
  eventOf,
  filterOut,
  idOf,
  newDelivery,
  readMessages,
  retry,
  taskIdOf,
} from "../../helpers/store_records.ts";
import { DEMAND, IGNORED, startTask } from "./chat_tasks.ts";
import { eachStore } from "./each_store.ts";
import { ended } from "./pruned_tasks.ts";

const NOW = 1_800_000_000_000;

const bodies = (store: Store, ids: readonly number[], before = 1e15) =>
  store.deleteBodies({ ids: ids.map(idOf), before, now: NOW });
eachStore(
  "deleteBodies takes the body and the payload; record, headers and task stay",
  async (store) => {
    const payload = new TextEncoder().encode('{"made":"of it"}');
    await accept(store, 1, { payload });
    await store.claimTasks(9, 1);
    await store.addToInbox(taskIdOf(1), { text: "and this" }, 1);
    await readMessages(store, 1, 1);
    await store.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: 9 });
    await accept(store, 2);
    deepEqual(await bodies(store, [1]), { deleted: 1, needed: [] });
    const stored = await store.readDelivery(idOf(1));
    deepEqual([stored?.content, stored?.delivery.detail.bodyDeletedAt], [undefined, NOW]);
    deepEqual(
      await store.listHeaderValues({ project: "default", header: "x-n", since: 0, limit: 9 }),
      { values: ["2", "1"] },
      "its headers tell the repair that it is here",
    );
    deepEqual(await store.listInbox(taskIdOf(1)), []);
    equal((await store.findTasks(taskIdOf(1)))[0]?.state, "failed");
    await rejects(retry(store, 3, 1), {
      code: "conflict",
      message: `Task ${taskIdOf(1)} cannot be retried: the body of delivery ${idOf(1)}, which is ` +
        "its payload, was deleted on 2027-01-15T08:00:00.000Z by retention",
    });
    deepEqual((await store.listTasks({ limit: 9 })).map(({ id }) => id), [2, 1].map(taskIdOf));
    deepEqual(await bodies(store, [1]), { deleted: 0, needed: [] }, "it is gone already");
    equal((await store.readDelivery(idOf(1)))?.delivery.detail.bodyDeletedAt, NOW);
  },
);

eachStore(
  "deleteBodies passes over what is young, runs, ends or ended only just now",
  async (store) => {
    const received = { receivedAt: 1000 };
    await accept(store, 1, received);
    deepEqual(await bodies(store, [1], 1000), { deleted: 0, needed: [] }, "too young");
    deepEqual(await bodies(store, [1], 2000), { deleted: 0, needed: [idOf(1)] }, "it waits");
    await store.claimTasks(9, 1);
    deepEqual((await bodies(store, [1], 2000)).needed, [idOf(1)], "it runs");
    const end = { taskId: taskIdOf(1), state: "failed", reason: "", now: 3000 } as const;
    await store.finishTask({ ...end, followed: true });
    deepEqual((await bodies(store, [1], 4000)).needed, [idOf(1)], "its end is not looked at");
    await store.forgetTaskEnd(taskIdOf(1), []);
    deepEqual(
      (await bodies(store, [1], 3000)).needed,
      [idOf(1)],
      "its task may be retried a while",
    );
    await retry(store, 2, 1);
    deepEqual((await bodies(store, [1], 4000)).needed, [idOf(1)], "its retry waits");
    const [claimed] = (await store.claimTasks(9, 5)).tasks;
    equal(new TextDecoder().decode(claimed?.payload), '{"n":1}');
    await store.finishTask({ ...end, taskId: taskIdOf(2), state: "succeeded" });
    equal((await bodies(store, [1], 4000)).deleted, 1);
  },
);

eachStore(
  "deleteBodies leaves what several triggers share to those that keep it",
  async (store) => {
    const content = { headers: { a: "b" }, body: new Uint8Array([1, 0, 255]), url: "http://a/x" };
    await store.recordDeliveries({
      content,
      dedupWindowMs: 1,
      dedupKeepMs: 1,
      deliveries: [1, 2, 3].map((n) => {
        const given = { trigger: `t${n}` };
        const { delivery, events } = newDelivery(n, given, [eventOf(n, given)]);
        return { delivery, events };
      }),
    });
    await store.claimTasks(9, 1);
    for (const n of [1, 2, 3]) {
      await store.finishTask({ taskId: taskIdOf(n), state: "failed", reason: "", now: 9 });
    }
    for (const n of [3, 1]) {
      equal((await bodies(store, [n])).deleted, 1);
      equal((await store.readDelivery(idOf(n)))?.content, undefined);
      await rejects(retry(store, 11, n), { code: "conflict" });
      deepEqual((await store.readDelivery(idOf(2)))?.content, content);
    }
    const page = await store.listHeaderValues({
      project: "default",
      header: "a",
      since: 0,
      limit: 9,
    });
    equal(page.values.includes("b"), true);
    await retry(store, 12, 2);
    deepEqual([...(await store.claimTasks(9, 1)).tasks[0]?.payload ?? []], [1, 0, 255]);
  },
);

eachStore(
  "deleteBodies takes the text of a chat event, which cannot be replayed then",
  async (store) => {
    await store.recordSourceEvent(sourceEvent(1, { receivedAt: 10 }));
    deepEqual((await bodies(store, [1])).needed, [idOf(1)], "it is to be routed");
    await store.claimSourceEvents(DEMAND);
    await store.routeSourceEvent(eventIdOf(1), IGNORED, 1);
    equal((await bodies(store, [1])).deleted, 1);
    equal((await store.listSourceEvents({ limit: 9 }))[0]?.text, "");
    equal(await store.replaySourceEvent(eventIdOf(1), 9), false);
  },
);

eachStore(
  "pruneRecords removes what is old of those records, and nothing that is needed",
  async (store) => {
    await ended(store, 1, { at: 100, receivedAt: 10, trigger: "a" });
    await ended(store, 2, { at: 200, receivedAt: 20, trigger: "a" });
    await accept(store, 3, { receivedAt: 30, trigger: "a" });
    await filterOut(store, 4);
    await store.setTaskDirectory(taskIdOf(1), "/data/copies/1");
    const all = { tasks: [1, 2, 3, 99].map(taskIdOf), deliveries: [1, 2, 3, 4, 99].map(idOf) };
    deepEqual(await store.pruneRecords({ ...all, before: 150 }), {
      tasks: [{ id: taskIdOf(1), directory: "/data/copies/1" }],
      deliveries: 1,
    });
    deepEqual((await store.listTasks({ limit: 9 })).map(({ id }) => id), [3, 2].map(taskIdOf));
    deepEqual((await store.listDeliveries({ limit: 9 })).map(({ id }) => id), [4, 3, 2].map(idOf));
    deepEqual(await store.pruneRecords({ tasks: [], deliveries: [], before: 1e15 }), {
      tasks: [],
      deliveries: 0,
    });
  },
);

eachStore(
  "pruneRecords takes the chat event of a delivery along, unless it waits",
  async (store) => {
    await startTask(store, 1, { receivedAt: 10 });
    await store.recordSourceEvent(sourceEvent(2, { receivedAt: 20 }));
    await store.recordSourceEvent(sourceEvent(3, { receivedAt: 30 }));
    await store.claimSourceEvents({ ...DEMAND, limit: 1 });
    await store.routeSourceEvent(eventIdOf(2), IGNORED, 1);
    const deliveries = [1, 2, 3].map(idOf);
    equal((await store.pruneRecords({ tasks: [], deliveries, before: 1e15 })).deliveries, 1);
    deepEqual(
      (await store.listSourceEvents({ limit: 9 })).map(({ id }) => id),
      [3, 1].map(eventIdOf),
    );
  },
);

eachStore(
  "listRecordTriggers names each trigger that has tasks or deliveries, once",
  async (store) => {
    deepEqual(await store.listRecordTriggers(), []);
    for (const [n, trigger] of ["b", "a", "a", "c"].entries()) await accept(store, n, { trigger });
    await accept(store, 8, { project: "other", trigger: "a" });
    await filterOut(store, 9);
    await store.emptyLog();
    deepEqual(
      (await store.listRecordTriggers()).map(({ project, trigger }) => `${project}/${trigger}`)
        .toSorted(),
      ["default/a", "default/b", "default/c", "default/push", "other/a"],
    );
  },
);
