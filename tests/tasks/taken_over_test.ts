/**
 * Tasks that a worker takes over from a node that is gone, while it runs others.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { ClaimedTask } from "../../src/store/task_records.ts";
import type { Store } from "../../src/store/store.ts";
import { testWithRig } from "../rigs/worker_rig.ts";

/** A store whose next claim gives every task as one that was taken over so often. */
function takingOver(store: Store, restarts = 1): Pick<Store, "claimTasks"> {
  let isFirst = true;
  return {
    async claimTasks(limit, now) {
      const claim = await store.claimTasks(limit, now);
      if (!isFirst || claim.tasks.length === 0) return claim;
      isFirst = false;
      const interrupted: readonly ClaimedTask[] = claim.tasks.map((claimed) => ({
        ...claimed,
        task: { ...claimed.task, restarts },
      }));
      return { tasks: [], interrupted };
    },
  };
}

const WORKFLOW = "{steps: [{id: a, run: echo a >> log}]}";

testWithRig("a task that is taken over goes on, also the third time", async (rig) => {
  const id = await rig.queue(1, WORKFLOW);
  await rig.start(1, takingOver(rig.store, 3));
  equal((await rig.ended(id)).state, "succeeded");
  deepEqual(await Deno.readTextFile(`${rig.workspace}/log`), "a\n");
});

testWithRig("a task that is taken over too often is given up", async (rig) => {
  const id = await rig.queue(1, WORKFLOW);
  await rig.start(1, takingOver(rig.store, 4));
  const task = await rig.ended(id);
  deepEqual([task.state, task.reason], ["failed", "interrupted"]);
});

testWithRig("what another node has taken meanwhile keeps no other from going on", async (rig) => {
  const [lost, kept] = [await rig.queue(1, WORKFLOW), await rig.queue(2, WORKFLOW)];
  await rig.start(2, {
    ...takingOver(rig.store),
    requeueTask: (id, requeue) =>
      id === lost
        ? Promise.reject(new Error("another node runs it"))
        : rig.store.requeueTask(id, requeue),
  });
  deepEqual((await rig.ended(kept)).state, "succeeded");
});
