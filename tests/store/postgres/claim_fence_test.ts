/**
 * What a daemon may still write of a task that another one has taken over: nothing.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import { accept, step, taskIdOf } from "../../helpers/store_records.ts";
import { type TwoDaemons, twoDaemonsTest } from "../../rigs/two_daemons.ts";

const TAKEN = { code: "conflict", message: `Task ${taskIdOf(1)} is run by another node now` };

/** Daemon a claims task 1; then it goes to another claim, as a takeover does it. */
async function claimAndLose(
  { a, sql }: TwoDaemons,
  to: { readonly node: string; readonly run: string },
): Promise<void> {
  await accept(a, 1);
  equal((await a.claimTasks(1, 5)).tasks.length, 1);
  await a.saveStep(taskIdOf(1), step(0, "running"));
  await sql((db) =>
    db.run(
      "UPDATE tasks SET node = ?, run = ?, epoch = epoch + 1 WHERE id = ?",
      to.node,
      to.run,
      taskIdOf(1),
    )
  );
}

async function refusesAll(store: Store): Promise<void> {
  const id = taskIdOf(1);
  await rejects(store.saveStep(id, step(0, "succeeded")), TAKEN);
  await rejects(store.setTaskDirectory(id, "/elsewhere"), TAKEN);
  await rejects(store.requeueTask(id, { now: 5 }), TAKEN);
  await rejects(store.saveChildOutputs(id, { text: "of a run that is over" }), TAKEN);
  const end = { taskId: id, state: "succeeded", reason: "", now: 9 } as const;
  await rejects(store.finishTask({ ...end, steps: [step(1, "succeeded")] }), TAKEN);
  const [task] = await store.findTasks(id);
  deepEqual([task?.state, task?.restarts, task?.directory], ["running", 0, ""]);
  deepEqual(task?.steps.map(({ state }) => state), ["running", "pending"]);
}

twoDaemonsTest("a task of another node is not written", async (daemons) => {
  await claimAndLose(daemons, { node: "b", run: "b1" });
  await refusesAll(daemons.a);
  const end = { taskId: taskIdOf(1), state: "failed", reason: "why", now: 9 } as const;
  equal(await daemons.b.finishTask(end), true);
  const [task] = await daemons.a.findTasks(taskIdOf(1));
  deepEqual([task?.state, task?.reason], ["failed", "why"]);
  await rejects(daemons.a.saveStep(taskIdOf(1), step(0, "succeeded")), TAKEN, "nor after its end");
});

twoDaemonsTest("nor is one that came back under another claim", async (daemons) => {
  await claimAndLose(daemons, { node: "a", run: "a1" });
  await refusesAll(daemons.a);
});

twoDaemonsTest("a refusal spoils no call that shares its batch", async (daemons) => {
  const { a } = daemons;
  await claimAndLose(daemons, { node: "b", run: "b1" });
  await accept(a, 2);
  await a.claimTasks(1, 5);
  const settled = await Promise.allSettled([
    a.saveStep(taskIdOf(2), step(0, "succeeded")),
    a.saveStep(taskIdOf(1), step(0, "succeeded")),
    a.finishTask({ taskId: taskIdOf(2), state: "succeeded", reason: "", now: 9 }),
  ]);
  deepEqual(settled.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
});
