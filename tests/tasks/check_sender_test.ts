/**
 * The check before the first step: it keeps every step from running, those under `finally` included,
 * and is made once.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { SenderQuestion, SenderRefusal } from "../../src/tasks/sender_check.ts";
import { PLAN } from "../helpers/store_records.ts";
import { claimAndCrash, type Rig, testWithRig } from "../rigs/worker_rig.ts";

const STEPS = {
  steps: [{ id: "one", run: "echo ran" }],
  finally: [{ id: "last", run: "echo last" }],
};

/** A task whose plan asks who may start it. */
function queue(rig: Rig, n: number, more: Record<string, unknown> = {}): Promise<string> {
  const workspace = { path: rig.dirs.root, env: {} };
  const plan = { ...STEPS, env: {}, workspace, from: { permission: "write" }, ...more };
  const json = JSON.stringify(plan);
  return rig.queue(n, '{steps: [{id: one, run: "true"}]}', '{"sender":{"login":"ada"}}', {
    plan: { hash: `${PLAN.hash}-${n}`, json },
  });
}

/** A check with a fixed answer, and the questions that it got. */
function check(answer: () => SenderRefusal | undefined) {
  const asked: SenderQuestion[] = [];
  const whyNot = (question: SenderQuestion) => {
    asked.push(question);
    return Promise.resolve(answer());
  };
  return { asked, more: { senders: { whyNot } } };
}

for (const state of ["cancelled", "failed"] as const) {
  testWithRig(
    `a task that may not start is ${state}, and none of its steps has run`,
    async (rig) => {
      const { asked, more } = check(() => ({ state, reason: "he may not" }));
      const id = await queue(rig, 1);
      await rig.start(1, {}, more);
      const task = await rig.ended(id);
      deepEqual([task.state, task.reason], [state, "he may not"]);
      deepEqual(await rig.printed(id), { out: "", err: "" });
      deepEqual(asked.map(({ project, guard, payload }) => ({ project, guard, payload })), [{
        project: "default",
        guard: { permission: "write" },
        payload: { sender: { login: "ada" } },
      }]);
    },
  );
}

testWithRig(
  "a task that may start runs, and one that asks for nothing is not asked about",
  async (rig) => {
    const { asked, more } = check(() => undefined);
    const [guarded, free] = [await queue(rig, 1), await queue(rig, 2, { from: undefined })];
    await rig.start(1, {}, more);
    for (const id of [guarded, free]) equal((await rig.ended(id)).state, "succeeded");
    equal((await rig.printed(guarded)).out, "ran\nlast\n");
    equal(asked.length, 1);
  },
);

testWithRig("a crash before the first step asks again", async (rig) => {
  const { asked, more } = check(() => ({ state: "cancelled", reason: "he may not" }));
  const id = await queue(rig, 1);
  await claimAndCrash(rig);
  await rig.start(1, {}, more);
  equal((await rig.ended(id)).state, "cancelled");
  equal(asked.length, 1);
});

testWithRig(
  "a task that has begun goes on after a crash, without being asked about again",
  async (rig) => {
    const { asked, more } = check(() => ({ state: "cancelled", reason: "he may not" }));
    const id = await queue(rig, 1);
    await claimAndCrash(rig);
    const [claimed] = await rig.store.findTasks(id);
    const begun = { position: 0, id: "one", state: "running", reason: "" } as const;
    await rig.store.saveStep(id, { ...begun, startedAt: claimed?.startedAt ?? 0 });
    await rig.start(1, {}, more);
    equal((await rig.ended(id)).state, "succeeded");
    deepEqual(asked, []);
  },
);

testWithRig("a task that is cancelled meanwhile does not wait for the answer", async (rig) => {
  const asking = Promise.withResolvers<void>();
  const whyNot = (_: SenderQuestion, signal: AbortSignal) =>
    new Promise<undefined>((resolve) => {
      signal.addEventListener("abort", () => resolve(undefined), { once: true });
      asking.resolve();
    });
  const id = await queue(rig, 1);
  const worker = await rig.start(1, {}, { senders: { whyNot } });
  await asking.promise;
  const [task] = await rig.store.findTasks(id);
  if (task !== undefined) await worker.end(task, "no longer wanted");
  equal((await rig.ended(id)).state, "cancelled");
  equal((await rig.printed(id)).out, "");
});
