/**
 * Chat events of two daemons: each is stored and routed once, those of a thread in their order, and
 * those of a daemon that is gone go on elsewhere.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { StaleResourcesError } from "../../../src/store/stale_resources.ts";
import type { SourceEventDemand } from "../../../src/store/source_event_records.ts";
import type { Store } from "../../../src/store/store.ts";
import { eventIdOf, sourceEvent } from "../../helpers/source_event_records.ts";
import { idOf, taskIdOf } from "../../helpers/store_records.ts";
import { DEMAND, IGNORED, startTask, toTask } from "../contract/chat_tasks.ts";
import { numberOf, range } from "../contract/each_store.ts";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";

async function claim(store: Store, demand: Partial<SourceEventDemand> = {}): Promise<number[]> {
  const { events } = await store.claimSourceEvents({ ...DEMAND, ...demand });
  return events.map(({ event }) => numberOf(event.id));
}

twoDaemonsTest("an event that the platform sends to both is stored once", async ({ a, b }) => {
  const sent = (n: number) => sourceEvent(n, { externalEventId: `Ev${n >> 1}` });
  const stored = await Promise.all(
    range(0, 20).map((n) => (n % 2 === 0 ? a : b).recordSourceEvent(sent(n))),
  );
  equal(stored.filter(({ status }) => status === "accepted").length, 10);
  equal((await a.listSourceEvents({ limit: 99 })).length, 10);
  equal((await b.listDeliveries({ limit: 99 })).length, 20, "each request by itself");
});

twoDaemonsTest("each event is routed once, those of a thread in their order", async ({ a, b }) => {
  const count = 48;
  const threadOf = (n: number) => n % 6;
  const events = range(0, count).map((n) => sourceEvent(n, { threadId: `${threadOf(n)}` }));
  for (const event of events) await a.recordSourceEvent(event);
  const routed: number[] = [];
  const routeAll = async (store: Store) => {
    while (routed.length < count) {
      const ids = await claim(store, { limit: 3 });
      await Promise.all(ids.map(async (n) => {
        equal((await store.routeSourceEvent(eventIdOf(n), IGNORED, 1)).state, "ignored");
        routed.push(n);
      }));
    }
  };
  await Promise.all([routeAll(a), routeAll(b)]);
  deepEqual(routed.toSorted((x, y) => x - y), range(0, count));
  for (const thread of range(0, 6)) {
    const inOrder = routed.filter((n) => threadOf(n) === thread);
    deepEqual(inOrder, inOrder.toSorted((x, y) => x - y));
  }
});

twoDaemonsTest("none of a thread is left behind, or comes before its turn", async ({ a, b }) => {
  const thread = { threadId: "A" };
  for (const round of range(0, 10)) {
    const [first, second, third] = [3 * round, 3 * round + 1, 3 * round + 2] as const;
    await a.recordSourceEvent(sourceEvent(first, thread));
    deepEqual(await claim(a), [first]);
    await Promise.all([
      a.routeSourceEvent(eventIdOf(first), IGNORED, 1), // while others arrive behind it
      b.recordSourceEvent(sourceEvent(second, thread)),
      a.recordSourceEvent(sourceEvent(third, thread)),
    ]);
    const next = await claim(b);
    equal(next.length, 1);
    await b.routeSourceEvent(eventIdOf(next[0] ?? -1), IGNORED, 1);
    const last = await claim(a);
    await a.routeSourceEvent(eventIdOf(last[0] ?? -1), IGNORED, 1);
    deepEqual([...next, ...last].toSorted((x, y) => x - y), [second, third]);
  }
});

twoDaemonsTest("an event that a dead daemon was routing is taken over, once", async (daemons) => {
  const { a, b } = daemons;
  for (const n of [1, 2]) await a.recordSourceEvent(sourceEvent(n));
  deepEqual(await claim(a), [1, 2]);
  deepEqual(await claim(b), [], "a lives");
  const { events } = await b.claimSourceEvents({ ...DEMAND, routing: [] });
  deepEqual(events, [], "also where b asks what is nobody's");
  await daemons.endLeaseOfA();
  deepEqual(await claim(b), [], "but only where it asks");
  deepEqual(await claim(b, { routing: [] }), [1, 2]);
  deepEqual(await a.routeSourceEvent(eventIdOf(1), toTask(1), 1), { state: "routing" });
  await a.postponeSourceEvent(eventIdOf(2), { reason: "late", counts: true });
  equal((await a.listTasks({ limit: 9 })).length, 0);
  equal((await b.routeSourceEvent(eventIdOf(1), toTask(1), 1)).state, "routed");
  equal((await b.routeSourceEvent(eventIdOf(2), toTask(2), 1)).state, "routed");
});

twoDaemonsTest("a daemon that starts again routes its own events at once", async (daemons) => {
  const { a, b } = daemons;
  for (const n of [1, 2]) await a.recordSourceEvent(sourceEvent(n));
  deepEqual(await claim(a, { limit: 1 }), [1]);
  deepEqual(await claim(b), [2]);
  deepEqual(await claim(await daemons.restartA(), { routing: [] }), [1]);
});

twoDaemonsTest(
  "a task that was decided by resources of before is not started",
  async ({ a, b }) => {
    const before = await b.resourceVersion();
    await b.recordSourceEvent(sourceEvent(1));
    deepEqual(await claim(b), [1]);
    const now = await a.changeResources([]);
    const decided = (resourceVersion: number) => ({ ...toTask(1), resourceVersion });
    await rejects(b.routeSourceEvent(eventIdOf(1), decided(before), 1), StaleResourcesError);
    equal((await b.listTasks({ limit: 9 })).length, 0);
    equal((await b.routeSourceEvent(eventIdOf(1), decided(now), 1)).state, "routed");
  },
);

twoDaemonsTest("a post counts once, also where both route an event about it", async ({ a, b }) => {
  for (const round of range(0, 10)) {
    const [mention, message] = [2 * round, 2 * round + 1] as const;
    const post = { postId: `post ${round}` };
    await a.recordSourceEvent(sourceEvent(mention, { ...post, threadId: "" }));
    await a.recordSourceEvent(sourceEvent(message, { ...post, threadId: `thread ${round}` }));
    deepEqual([await claim(a, { limit: 1 }), await claim(b)], [[mention], [message]]);
    const routed = await Promise.all([
      a.routeSourceEvent(eventIdOf(mention), toTask(mention), 1),
      b.routeSourceEvent(eventIdOf(message), toTask(message), 1),
    ]);
    deepEqual(routed.map(({ state }) => state).toSorted(), ["ignored", "routed"]);
  }
  equal((await a.listTasks({ limit: 99 })).length, 10);
});

twoDaemonsTest(
  "a reply goes to the task of its thread, wherever that was started",
  async (daemons) => {
    const { a, b } = daemons;
    await startTask(a, 1);
    await b.recordSourceEvent(sourceEvent(2, { threadId: "1" }));
    const { events: [reply] } = await b.claimSourceEvents(DEMAND);
    deepEqual(reply?.bound, { id: taskIdOf(1), state: "pending" });
    const inbox = { to: "inbox", taskId: taskIdOf(1), message: {}, boundTo: taskIdOf(1) } as const;
    await a.cancelTask(taskIdOf(1), { reason: "by hand", now: 1 });
    equal((await b.routeSourceEvent(eventIdOf(2), inbox, 5)).state, "received", "it has ended");
    deepEqual(await claim(a), [2]);
    await a.bindThread({
      ...sourceEvent(2, { threadId: "1" }).event,
      taskId: taskIdOf(9),
      updatedAt: 6,
    });
    equal((await a.routeSourceEvent(eventIdOf(2), inbox, 7)).state, "received", "bound anew");
    equal((await b.findEventOfDelivery(idOf(2)))?.taskId, "");
  },
);
