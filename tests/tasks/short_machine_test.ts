/**
 * A machine that is short of descriptors, processes or room on its disk: what was accepted waits for
 * it, runs once there is that again, and `degraded` says for what. And a store that cannot take the
 * end of a task, whatever it says.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import { HealthConditions } from "../../src/base/health_conditions.ts";
import { findShortage, findShortageIn } from "../../src/base/shortage.ts";
import type { Store } from "../../src/store/store.ts";
import { until } from "../helpers/until.ts";
import { testWithRig as test } from "../rigs/worker_rig.ts";

/** An error as Deno throws it. */
function shortOf(code: string, message: string): Error {
  return Object.assign(new Error(`${message} (os error 0)`), { code });
}

const EMFILE = shortOf("EMFILE", "Failed to spawn '/usr/bin/setsid': Too many open files");

/** Has processes fail to start, but for those of `mayStart`, until it is disposed. */
function withoutProcesses(mayStart: (args: string) => boolean, error: Error) {
  const { spawn } = Deno.Command.prototype;
  const real = Deno.Command;
  const refused: string[] = [];
  Deno.Command = class extends real {
    readonly #line: string;
    constructor(command: string | URL, options?: Deno.CommandOptions) {
      super(command, options);
      this.#line = options?.args?.join(" ") ?? "";
    }
    override spawn() {
      const isPooled = this.#line.endsWith("/dash"); // it would run any line
      if (!isPooled && mayStart(this.#line)) return spawn.call(this);
      if (!isPooled) refused.push(this.#line);
      throw error;
    }
  };
  return { refused, [Symbol.dispose]: () => void (Deno.Command = real) };
}

Deno.test("a shortage is known by the code of an error, or of what caused it", () => {
  match(findShortage(EMFILE) ?? "", /file descriptors.*LimitNOFILE/);
  match(findShortage(new Error("outer", { cause: shortOf("ENOSPC", "full") })) ?? "", /make room/);
  for (const code of ["EDQUOT", "EIO", "EROFS", "ENFILE", "EAGAIN", "ENOMEM"]) {
    equal(typeof findShortage(shortOf(code, "")), "string", code);
  }
  for (const code of ["ENOENT", "EACCES", "E2BIG", "toString"]) {
    equal(findShortage(shortOf(code, "")), undefined, code);
  }
  equal(findShortage("EMFILE"), undefined);
  match(findShortageIn("cp: error writing 'b': No space left on device\n") ?? "", /make room/);
  equal(findShortageIn("fatal: not a git repository\n"), undefined);
});

for (
  const [what, error] of [
    ["room", shortOf("ENOSPC", "No space left on device")],
    ["descriptors", EMFILE],
    ["a disk", shortOf("EIO", "Input/output error")],
  ] as const
) {
  test(`a machine without ${what} before the first step gives the task back`, async (rig) => {
    const id = await rig.queue(1, '{steps: [{id: a, run: "echo a >> log"}], finally: []}');
    const health = new HealthConditions();
    let isShort = true;
    const guard = {
      watch: () => isShort ? Promise.reject(error) : Promise.resolve(),
      release: () => {},
    };
    const requeued: string[] = [];
    await rig.start(1, {
      requeueTask: (taskId, now) => (requeued.push(taskId), rig.store.requeueTask(taskId, now)),
    }, { guard, health });
    await until("the task a second time", () => requeued[1]);
    equal((await rig.store.findTasks(id))[0]?.state, "pending");
    deepEqual(health.list().length, 1);
    match(health.list()[0] ?? "", /^steps cannot start, so their tasks wait: /);
    isShort = false;
    const task = await rig.ended(id);
    deepEqual([task.state, task.reason, task.restarts], ["succeeded", "", 0]);
    equal(await Deno.readTextFile(`${rig.workspace}/log`), "a\n");
    deepEqual(health.list(), []);
  });
}

test("a first step that cannot be started gives its task back", async (rig) => {
  const id = await rig.queue(1, "{steps: [{id: a, run: echo first >> log}]}");
  const requeued: string[] = [];
  {
    using short = withoutProcesses((line) => !line.includes("echo first"), EMFILE);
    await rig.start(1, {
      requeueTask: (taskId, now) => (requeued.push(taskId), rig.store.requeueTask(taskId, now)),
    });
    await until("a try", () => short.refused[1]);
    equal((await rig.store.findTasks(id))[0]?.finishedAt, undefined);
  }
  equal((await rig.ended(id)).state, "succeeded");
  equal(requeued[0], id);
});

test("a later step, and one under finally, waits for the machine and runs once", async (rig) => {
  const id = await rig.queue(
    1,
    "{steps: [{id: a, run: echo a >> log}, {id: b, run: echo later >> log}], " +
      "finally: [{id: c, run: echo last >> log}]}",
  );
  const health = new HealthConditions();
  {
    using short = withoutProcesses((line) => !/echo la/.test(line), EMFILE);
    await rig.start(1, {}, { health });
    await until("a second try of b", () => short.refused[1]);
    match(health.list().join(), /file descriptors/);
  }
  const task = await rig.ended(id);
  deepEqual([task.state, task.reason, task.restarts], ["succeeded", "", 0]);
  deepEqual(task.steps.map(({ attempt }) => attempt), [undefined, undefined, undefined]);
  equal(await Deno.readTextFile(`${rig.workspace}/log`), "a\nlater\nlast\n");
  deepEqual(health.list(), []);
});

test("a step that waits for the machine ends with the timeout of its task", async (rig) => {
  const id = await rig.queue(
    1,
    "{timeout: 1, steps: [{id: a, run: 'true'}, {id: b, run: echo later >> log}]}",
  );
  using _short = withoutProcesses((line) => !line.includes("echo later"), EMFILE);
  await rig.start(1);
  const task = await rig.ended(id);
  deepEqual([task.state, task.reason], [
    "failed",
    'step "b": timed out with its task, whose timeout is 1s',
  ]);
});

test("the end of a task is stored in the end, even if the store fails meanwhile", async (rig) => {
  const faults = [
    new AppError("overloaded", "not now"),
    new AppError("internal", "damaged"),
    new TypeError("a bug"),
    new TypeError("the same bug"),
  ];
  const id = await rig.queue(1, "{steps: [{id: a, run: echo a >> log}]}");
  const finishTask: Store["finishTask"] = (end) => {
    const fault = faults.shift();
    return fault === undefined ? rig.store.finishTask(end) : Promise.reject(fault);
  };
  await rig.start(1, { finishTask });
  equal((await rig.ended(id)).state, "succeeded");
  equal(await Deno.readTextFile(`${rig.workspace}/log`), "a\n", "run once");
  equal(rig.logged.filter((line) => line.includes("cannot be stored yet")).length, 1);
});

test("a task whose requeue was stored without an answer is not run while the requeue is repeated", async (rig) => {
  const id = await rig.queue(1, "{steps: [{id: a, run: echo a >> log}]}");
  const lease = { isOver: () => false, covers: () => {} };
  let claims = 0, returns = 0;
  const worker = await rig.start(1, {
    async claimTasks(limit, now) {
      const claim = await rig.store.claimTasks(limit, now);
      if (++claims === 1) {
        rig.events.publish("leaseEnded", undefined); // it is given back
        rig.events.publish("leaseRegained", undefined);
      }
      return claim;
    },
    async requeueTask(taskId, requeue) {
      await rig.store.requeueTask(taskId, requeue);
      if (++returns === 1) {
        worker.kick(); // claims it anew, while the worker believes that it was not given back
        throw new AppError("overloaded", "the answer was lost");
      }
    },
  }, { lease });
  const task = await rig.ended(id);
  deepEqual([task.state, task.reason], ["succeeded", ""]);
  equal(await Deno.readTextFile(`${rig.workspace}/log`), "a\n", "run once");
});
