/**
 * Events of a chat: one of a thread at a time, in their order; listed and found.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import { eventIdOf, sourceEvent } from "../../helpers/source_event_records.ts";
import { idOf } from "../../helpers/store_records.ts";
import { eachStore } from "./each_store.ts";
import { DEMAND, IGNORED } from "./chat_tasks.ts";

eachStore(
  "claimSourceEvents hands over one of a thread at a time, in the order they came",
  async (store) => {
    for (const n of [1, 2, 3]) await store.recordSourceEvent(sourceEvent(n, { threadId: "A" }));
    for (const n of [4, 5]) await store.recordSourceEvent(sourceEvent(n, { threadId: "B" }));
    for (const n of [6, 7]) await store.recordSourceEvent(sourceEvent(n, { threadId: "" }));
    const claim = async () =>
      (await store.claimSourceEvents(DEMAND)).events.map(({ event }) => event.id);
    deepEqual(await claim(), [1, 4, 6, 7].map(eventIdOf));
    deepEqual(await claim(), []);
    await store.routeSourceEvent(eventIdOf(1), IGNORED, 1);
    deepEqual(await claim(), [eventIdOf(2)]);
    await store.postponeSourceEvent(eventIdOf(2), { reason: "x", dueAt: 3e12, counts: true });
    deepEqual(await claim(), [eventIdOf(2)], "so far in the future is no pause");
    await store.postponeSourceEvent(eventIdOf(2), { reason: "x", counts: true });
    deepEqual(await claim(), [eventIdOf(3)]);
    equal(await store.replaySourceEvent(eventIdOf(1), 1), true);
    deepEqual(await claim(), [], "while another one of its thread is being routed");
    await store.routeSourceEvent(eventIdOf(3), IGNORED, 1);
    deepEqual(await claim(), [eventIdOf(1)]);
  },
);

eachStore("claimSourceEvents leaves out triggers that have had their share", async (store) => {
  for (const n of [1, 2]) await store.recordSourceEvent(sourceEvent(n, { trigger: `t${n}` }));
  const { events, nextAt } = await store.claimSourceEvents({ ...DEMAND, busy: ["default/t1"] });
  deepEqual(events.map(({ event }) => event.trigger), ["t2"]);
  equal(nextAt, DEMAND.now + DEMAND.staleMs, "and does not ask to be asked again at once");
});

eachStore("listSourceEvents: filters, and pages", async (store) => {
  for (let n = 0; n < 6; n++) {
    await store.recordSourceEvent(sourceEvent(n, {
      project: n < 3 ? "a" : "b",
      trigger: n % 2 === 0 ? "even" : "odd",
      receivedAt: n,
    }));
  }
  await store.claimSourceEvents(DEMAND);
  await store.routeSourceEvent(eventIdOf(4), IGNORED, 1);
  const list = async (query: Parameters<Store["listSourceEvents"]>[0]) =>
    (await store.listSourceEvents(query)).map(({ id }) => Number(id.slice(-2)));
  deepEqual(await list({ limit: 9 }), [5, 4, 3, 2, 1, 0]);
  deepEqual(await list({ limit: 2, before: eventIdOf(4) }), [3, 2]);
  deepEqual(await list({ limit: 9, project: "a" }), [2, 1, 0]);
  deepEqual(await list({ limit: 9, trigger: "odd" }), [5, 3, 1]);
  deepEqual(await list({ limit: 9, trigger: "even", project: "b" }), [4]);
  deepEqual(await list({ limit: 9, state: "ignored" }), [4]);
  deepEqual(await list({ limit: 9, state: "routing", trigger: "odd" }), [5, 3, 1]);
  deepEqual(await list({ limit: 9, since: 4 }), [5, 4]);
});

eachStore("an event that the platform sends again is stored once", async (store) => {
  const first = await store.recordSourceEvent(sourceEvent(1));
  deepEqual(first, { status: "accepted", id: eventIdOf(1) });
  const again = sourceEvent(2, { externalEventId: "Ev1" });
  deepEqual(await store.recordSourceEvent(again), { status: "duplicate", id: eventIdOf(1) });
  equal(await store.findEventOfDelivery(idOf(2)), undefined);
  const [delivery] = await store.listDeliveries({ limit: 1 });
  equal(delivery?.reason, `seen before, source event ${eventIdOf(1)}, which came 1ms earlier`);
  equal((await store.findEventOfDelivery(idOf(1)))?.id, eventIdOf(1));
  deepEqual((await store.listSourceEvents({ limit: 9 })).map(({ id }) => id), [eventIdOf(1)]);
  deepEqual((await store.findSourceEvents(eventIdOf(1))).map(({ text }) => text), ["text 1"]);
  deepEqual(await store.findSourceEvents(eventIdOf(2)), []);
});

eachStore(
  "an event that is not to be routed waits for nobody, and can be replayed",
  async (store) => {
    await store.recordSourceEvent({ ...sourceEvent(1), ignored: "a bot" });
    const [event] = await store.listSourceEvents({ limit: 9 });
    deepEqual([event?.state, event?.reason], ["ignored", "a bot"]);
    deepEqual(await store.claimSourceEvents(DEMAND), { events: [] });
    equal(await store.replaySourceEvent(eventIdOf(1), 5), true);
    equal(await store.replaySourceEvent(eventIdOf(9), 5), false);
    deepEqual((await store.claimSourceEvents(DEMAND)).events.map(({ event: { id } }) => id), [
      eventIdOf(1),
    ]);
  },
);
