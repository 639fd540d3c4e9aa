/**
 * Cursors of schedules.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { accept, acceptBatch, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore } from "./each_store.ts";
import { T0 } from "./timed_tasks.ts";

eachStore(
  "a delivery that names its event is stored once, and its schedule moves with it",
  async (store) => {
    const cursor = (at: number) => ({ name: "cron default/nightly", at });
    equal(await store.findCursor("cron default/nightly"), undefined);
    const given = { once: true, receivedAt: T0 };
    const first = await accept(store, 1, { ...given, cursor: cursor(5) });
    equal(await store.findCursor("cron default/nightly"), 5);
    const again = await accept(store, 1, { ...given, cursor: cursor(9), taskId: taskIdOf(2) });
    deepEqual(again, first);
    equal(await store.findCursor("cron default/nightly"), 5, "nothing changes");
    equal((await store.listTasks({ limit: 9 })).length, 1);
    const batch = { ...given, tasks: [11, 12] };
    const outcomes = await acceptBatch(store, 3, batch);
    deepEqual(await acceptBatch(store, 3, batch), outcomes);
    await store.moveCursor(cursor(2));
    equal(await store.findCursor("cron default/nightly"), 2);
  },
);

eachStore("a run of a schedule is claimed once", async (store) => {
  const claims = (name: string, ...times: readonly number[]) =>
    Promise.all(times.map((at) => store.claimRun({ name, at })));
  equal((await claims("plugin a", T0, T0, T0)).filter(Boolean).length, 1);
  deepEqual(await claims("plugin b", T0), [true], "each schedule by itself");
  equal(await store.claimRun({ name: "plugin a", at: T0 - 1000 }), false, "a clock that is behind");
  equal(await store.claimRun({ name: "plugin a", at: T0 + 60_000 }), true);
  equal(await store.claimRun({ name: "plugin a", at: T0 - 3600_000 }), true, "a clock set back");
});
