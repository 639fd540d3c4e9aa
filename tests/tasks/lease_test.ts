/**
 * A worker whose lease ends, or whose claims others take: it ends what it runs, writes nothing more
 * of that, and runs nothing until its lease holds again.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import type { Store } from "../../src/store/store.ts";
import { processRuns, until, untilFile } from "../helpers/until.ts";
import { type Rig, testWithRig as test } from "../rigs/worker_rig.ts";

/** The first time it sleeps; once it was interrupted, it ends. */
const SLEEPS =
  `{steps: [{id: a, run: 'echo $$ >> pids; [ "$(wc -l < pids)" = 2 ] || { sleep 60 & wait; }'}]}`;

/** A lease that the test ends. */
function leaseOf({ events }: Rig) {
  let isOver = false;
  return {
    isOver: () => isOver,
    covers: () => {},
    end() {
      isOver = true;
      events.publish("leaseEnded", undefined);
    },
    regain() {
      isOver = false;
      events.publish("leaseRegained", undefined);
    },
  };
}

/** A guard that records its calls. */
function guardOf() {
  const calls: string[] = [];
  return {
    calls,
    watch: (mark: string) => Promise.resolve(void calls.push(`watch ${mark}`)),
    release: (mark: string) => void calls.push(`release ${mark}`),
  };
}

const pidsOf = async ({ workspace }: Rig) =>
  (await untilFile(`${workspace}/pids`)).trim().split("\n").map(Number);

test("the end of a lease ends running steps, which continue once the lease holds again", async (rig) => {
  const [lease, guard] = [leaseOf(rig), guardOf()];
  const id = await rig.queue(1, SLEEPS);
  let claims = 0;
  const counting: Partial<Store> = {
    claimTasks: (limit, now) => (claims++, rig.store.claimTasks(limit, now)),
  };
  const worker = await rig.start(1, counting, { lease, guard });
  const [pid = 0] = await pidsOf(rig);
  const [watched = ""] = guard.calls;
  ok(watched.startsWith(`watch SVC_TASK_RUN=${id}.`), watched);
  lease.end();
  await until("its end", async () => await processRuns(pid) ? undefined : true);
  await until("its place in the queue", async () => {
    const [task] = await rig.store.findTasks(id);
    return task?.state === "pending" || undefined;
  });
  equal(guard.calls[1], watched.replace("watch", "release"));
  const before = claims;
  worker.kick();
  equal(claims, before, "nothing is claimed meanwhile");
  lease.regain();
  const task = await rig.ended(id);
  deepEqual([task.state, task.restarts, task.reason], ["succeeded", 0, ""]);
  equal((await pidsOf(rig)).length, 2);
});

/** A store that is away until the worker stores what became of its first task. */
function awayUntilEnd({ store }: Rig) {
  const ended = Promise.withResolvers<void>();
  let isAway = true;
  const back = <T>(work: () => Promise<T>) => {
    isAway = false;
    return work();
  };
  const methods: Partial<Store> = {
    saveStep(taskId, step) {
      if (!isAway) return store.saveStep(taskId, step);
      if (step.state === "succeeded") ended.resolve();
      return Promise.reject(new AppError("overloaded", "Not now"));
    },
    finishTask: (end) => back(() => store.finishTask(end)),
    requeueTask: (taskId, requeue) => back(() => store.requeueTask(taskId, requeue)),
  };
  return { methods, stepEnded: ended.promise };
}

for (
  const [what, plan] of [
    ["the last step", "{steps: [{id: a, run: 'sleep 0.1; echo a >> log'}]}"],
    [
      "a step",
      "{steps: [{id: a, run: 'sleep 0.1; echo a >> log'}, {id: b, run: 'echo b >> log'}]}",
    ],
  ] as const
) {
  test(`${what} that had ended when the lease did, and was not stored, does not run again`, async (rig) => {
    const lease = leaseOf(rig);
    const id = await rig.queue(1, plan);
    const { methods, stepEnded } = awayUntilEnd(rig);
    await rig.start(1, methods, { lease });
    await stepEnded;
    lease.end();
    await until("what became of the task", async () => {
      const [task] = await rig.store.findTasks(id);
      return task?.state !== "running" || undefined;
    });
    lease.regain();
    const task = await rig.ended(id);
    deepEqual([task.state, task.reason, task.restarts], ["succeeded", "", 0]);
    const log = await Deno.readTextFile(`${rig.workspace}/log`);
    equal(log, task.steps.map((step) => `${step.id}\n`).join(""));
  });
}

test("a task that is claimed after the end of the lease is given back unrun", async (rig) => {
  const lease = leaseOf(rig);
  const id = await rig.queue(1, "{steps: [{id: a, run: touch ran}]}");
  const requeued: string[] = [];
  let isFirst = true;
  await rig.start(1, {
    async claimTasks(limit, now) {
      const claim = await rig.store.claimTasks(limit, now);
      if (isFirst) {
        isFirst = false;
        lease.end();
        lease.regain(); // another daemon may have had the task in between
      }
      return claim;
    },
    requeueTask: (taskId, now) => (requeued.push(taskId), rig.store.requeueTask(taskId, now)),
  }, { lease });
  await until("the return of the task", () => requeued[0]);
  const task = await rig.ended(id);
  deepEqual([task.state, [...new Set(requeued)]], ["succeeded", [id]]);
});

test("a task that another node has claimed is ended, and nothing more is said of it", async (rig) => {
  const id = await rig.queue(1, SLEEPS);
  const written: string[] = [];
  const refuse = (name: string) => () => {
    written.push(name);
    return Promise.reject(new AppError("conflict", "Another node runs it"));
  };
  await rig.start(1, { requeueTask: refuse("requeue"), finishTask: refuse("finish") });
  const [pid = 0] = await pidsOf(rig);
  rig.events.publish("claimsLost", { taskIds: [id] });
  await until("its end", async () => await processRuns(pid) ? undefined : true);
  await until("the note", () => rig.logged.find((line) => line.includes("task given up")));
  deepEqual(written, []);
});

test("a run whose task this worker has claimed again writes nothing more", async (rig) => {
  const id = await rig.queue(1, "{steps: [{id: a, run: 'echo a >> log; sleep 1'}]}");
  const isBack = Promise.withResolvers<void>();
  let claims = 0;
  const worker = await rig.start(2, {
    async claimTasks(limit, now) {
      // another daemon has taken it over and put it back, while this one was stopped
      if (++claims === 2) await rig.store.requeueTask(id, { now: 5 });
      return await rig.store.claimTasks(limit, now);
    },
    async requeueTask(taskId, requeue) {
      await rig.store.requeueTask(taskId, requeue);
      isBack.resolve();
    },
    async finishTask(end) {
      await isBack.promise;
      return await rig.store.finishTask(end);
    },
  });
  await untilFile(`${rig.workspace}/log`);
  worker.kick();
  const task = await rig.ended(id);
  deepEqual([task.state, await Deno.readTextFile(`${rig.workspace}/log`)], ["succeeded", "a\na\n"]);
  const said = rig.logged.filter((line) => /task (ended|given up)/.test(line));
  deepEqual(said.map((line) => /task (ended|given up)/.exec(line)?.[1]), ["given up", "ended"]);
});

test("an end that is refused is no error", async (rig) => {
  await rig.queue(1, "{steps: [{id: a, run: 'true'}]}");
  await rig.start(1, {
    finishTask: () => Promise.reject(new AppError("conflict", "Another node runs it")),
  });
  const line = await until(
    "the note",
    () => rig.logged.find((one) => one.includes("task given up")),
  );
  ok(line.includes('"level":"info"'), line);
});

test("a task that another daemon wants stopped is cancelled here", async (rig) => {
  const id = await rig.queue(1, SLEEPS);
  await rig.start(1);
  const [pid = 0] = await pidsOf(rig);
  await rig.store.cancelTask(id, { reason: "not wanted", now: 1 });
  rig.events.publish("taskStopping", { taskId: id, reason: "not wanted" });
  const task = await rig.ended(id);
  deepEqual([task.state, task.reason], ["cancelled", "not wanted"]);
  equal(await processRuns(pid), false);
});
