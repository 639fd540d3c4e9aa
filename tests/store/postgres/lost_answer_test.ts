/**
 * A connection that breaks after the database has committed, and before it could say so: whoever
 * repeats its call gets what was stored, and nothing is stored twice.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../../src/base/clock.ts";
import { openPostgresStore } from "../../../src/store/postgres/open_store.ts";
import type { Batch } from "../../../src/store/maintenance.ts";
import type { Store } from "../../../src/store/store.ts";
import { accept, idOf, taskIdOf } from "../../helpers/store_records.ts";
import { createTestDatabase, postgresTest } from "../../helpers/postgres.ts";
import { Cable } from "../../rigs/cable.ts";

function lostAnswerTest(
  name: string,
  body: (store: Store, cable: Cable, batches: readonly Batch[]) => Promise<void>,
): void {
  postgresTest(name, async () => {
    await using database = await createTestDatabase();
    await using cable = new Cable(database.url);
    const owner = { node: "a", run: "a1" };
    const batches: Batch[] = [];
    await using store = await openPostgresStore({
      url: cable.url,
      owner,
      clock: systemClock,
      onBatch: (batch) => batches.push(batch),
    });
    await body(store, cable, batches);
  });
}

const LOST = { code: "overloaded" };

lostAnswerTest(
  "an event that names itself is answered with what was stored",
  async (store, cable) => {
    cable.loseNextCommit();
    await rejects(accept(store, 1, { once: true }), LOST);
    const again = await accept(store, 1, { once: true, taskId: taskIdOf(2) });
    deepEqual(again, { outcome: "accepted", reason: "", taskId: taskIdOf(1) });
    equal((await store.listTasks({ limit: 9 })).length, 1);
  },
);

lostAnswerTest("a request that is sent again is a duplicate of the first", async (store, cable) => {
  const given = { receivedAt: 5000, task: { dedupKey: "push 1" } };
  cable.loseNextCommit();
  await rejects(accept(store, 1, given), LOST);
  const again = await accept(store, 2, given);
  deepEqual([again?.outcome, again?.duplicateOf], ["duplicate", idOf(1)]);
  equal((await store.listTasks({ limit: 9 })).length, 1);
});

lostAnswerTest("a task that ended stays ended when its end is told again", async (store, cable) => {
  await accept(store, 1);
  await store.claimTasks(1, 5);
  const end = { taskId: taskIdOf(1), state: "succeeded", reason: "", now: 9 } as const;
  cable.loseNextCommit();
  await rejects(store.finishTask(end), LOST);
  equal(await store.finishTask({ ...end, state: "failed" }), false, "it has ended already");
  equal((await store.findTasks(taskIdOf(1)))[0]?.state, "succeeded");
});

lostAnswerTest(
  "each batch tells whether the database was written",
  async (store, cable, batches) => {
    await accept(store, 1);
    await store.requeueTask(taskIdOf(1), { now: 5 }); // it does not run: nothing changes
    cable.loseNextCommit();
    await rejects(accept(store, 2), LOST);
    await accept(store, 3);
    deepEqual(
      batches.map(({ calls, wrote, refused }) => [calls, wrote, refused !== undefined]),
      [[1, true, false], [1, false, false], [1, false, true], [1, true, false]],
    );
  },
);
