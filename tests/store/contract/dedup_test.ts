/**
 * Keys of events: what comes again within the window is a duplicate.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import { admitted } from "../../helpers/admitted.ts";
import { accept, type Accepted, idOf, newDelivery, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, numberOf, range } from "./each_store.ts";

/** Stores delivery `n` of an event with this key. */
const event = (store: Store, n: number, dedupKey: string, given: Accepted = {}) =>
  accept(store, n, { receivedAt: 1000, task: { dedupKey }, ...given });

eachStore(
  "an event that comes again within the window is a duplicate of the first",
  async (store) => {
    equal((await event(store, 1, "k"))?.outcome, "accepted");
    deepEqual(await event(store, 2, "k", { receivedAt: 1999 }), {
      outcome: "duplicate",
      reason: `seen before, in delivery ${idOf(1)}, which came 999ms earlier`,
      taskId: taskIdOf(1),
      duplicateOf: idOf(1),
    });
    equal((await event(store, 3, "other"))?.outcome, "accepted");
    equal((await event(store, 4, "k", { trigger: "other" }))?.outcome, "accepted");
    equal((await event(store, 5, "k", { project: "other" }))?.outcome, "accepted");
    deepEqual((await store.listTasks({ limit: 9 })).map(({ id }) => numberOf(id)), [5, 4, 3, 1]);
    equal((await store.listDeliveries({ limit: 9 })).length, 5, "each has its record");
  },
);

eachStore("of many that come at once with one key, one starts a task", async (store) => {
  const outcomes = await Promise.all(range(0, 100).map((n) => event(store, n, "k")));
  equal(outcomes.filter((one) => one?.outcome === "accepted").length, 1);
  equal((await store.listTasks({ limit: 999 })).length, 1);
});

eachStore(
  "a key is known over a restart, and forgotten after the window",
  async (store, { restart }) => {
    await event(store, 1, "k");
    const again = await restart();
    equal((await event(again, 2, "k", { receivedAt: 1500 }))?.outcome, "duplicate");
    equal((await event(again, 3, "k", { receivedAt: 3000 }))?.outcome, "accepted");
  },
);

eachStore("keys of events go when they are too old to tell repetitions", async (store) => {
  for (const n of range(0, 50)) await event(store, n, `k${n}`, { receivedAt: n * 100 });
  equal((await event(store, 60, "k45", { receivedAt: 4950 }))?.outcome, "duplicate");
  equal((await event(store, 61, "k30", { receivedAt: 4950 }))?.outcome, "accepted");
});

eachStore(
  "of events that start nothing and have a key, the second is a duplicate, with the first together, too",
  async (store, { restart }) => {
    const keyed = (dedupKey: string) => ({ project: "default", trigger: "push", dedupKey });
    const arrive = async (to: Store, n: number, receivedAt: number, ...keys: readonly string[]) => {
      const events = keys.map((key) =>
        admitted({ outcome: "skipped", reason: "only waited for", keyed: keyed(key) })
      );
      return await to.recordDelivery(newDelivery(n, { receivedAt }, events));
    };
    const first = { outcome: "skipped", reason: "only waited for" } as const;
    deepEqual(await arrive(store, 1, 1000, "k", "l", "k"), [first, first, {
      outcome: "duplicate",
      reason: `seen before, in delivery ${idOf(1)}, which came 0ms earlier`,
      duplicateOf: idOf(1),
    }]);
    const again = await restart();
    deepEqual(await arrive(again, 2, 1500, "l"), [{
      outcome: "duplicate",
      reason: `seen before, in delivery ${idOf(1)}, which came 500ms earlier`,
      duplicateOf: idOf(1),
    }]);
    const [stored] = await again.readDeliveries([idOf(2)]);
    deepEqual([stored?.delivery.outcome, stored?.delivery.detail.events], ["duplicate", undefined]);
    deepEqual(await arrive(again, 3, 3000, "l"), [first], "forgotten");
    await event(again, 4, "m", { receivedAt: 3000 });
    equal((await arrive(again, 5, 3001, "m"))[0]?.taskId, taskIdOf(4), "its trigger had an action");
    equal((await event(again, 6, "l", { receivedAt: 3001 }))?.outcome, "duplicate", "and gets one");
  },
);
