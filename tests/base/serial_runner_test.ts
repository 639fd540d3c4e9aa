import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { SerialRunner } from "../../src/base/serial_runner.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

/** A runner whose runs begin and end where the test says. */
function runnerRig() {
  const clock = new ManualClock();
  const start = clock.time;
  const begun: PromiseWithResolvers<number | undefined>[] = [];
  const errors: unknown[] = [];
  /** When each run began, in milliseconds after the start. */
  const times: number[] = [];
  const runner = new SerialRunner({
    run() {
      times.push(clock.time - start);
      const run = Promise.withResolvers<number | undefined>();
      begun.push(run);
      return run.promise;
    },
    onError: (error) => void errors.push(error),
    clock,
  });
  return {
    clock,
    start,
    runner,
    times,
    errors,
    /** Ends the latest run; the next one is due at `nextAt`. */
    async end(nextAt?: number) {
      begun.at(-1)?.resolve(nextAt);
      await clock.advance(0);
    },
    async fail(error: unknown) {
      begun.at(-1)?.reject(error);
      await clock.advance(0);
    },
  };
}

Deno.test("nothing runs before the first kick, and one kick brings one run", async () => {
  const { runner, times, end, clock } = runnerRig();
  await clock.advance(1_000_000);
  deepEqual(times, []);
  runner.kick();
  equal(times.length, 1);
  await end();
  await clock.advance(1_000_000);
  equal(times.length, 1);
  equal(clock.waiting, 0);
});

Deno.test("kicks while a run is under way bring one more run after it", async () => {
  const { runner, times, end } = runnerRig();
  for (let n = 0; n < 3; n++) runner.kick();
  equal(times.length, 1);
  await end();
  equal(times.length, 2);
  await end();
  equal(times.length, 2);
});

Deno.test("a kick at any moment around the end of a run is not lost", async () => {
  for (let hops = 0; hops < 10; hops++) {
    let runs = 0;
    const runner = new SerialRunner({
      async run() {
        runs++;
        await Promise.resolve();
        return undefined;
      },
      onError: () => {},
      clock: new ManualClock(),
    });
    runner.kick();
    for (let hop = 0; hop < hops; hop++) await Promise.resolve();
    runner.kick();
    await runner.settled();
    equal(runs, 2, `after ${hops} turns`);
  }
});

Deno.test("a run comes at the time the one before has named, and only at the latest one", async () => {
  const { runner, times, end, clock, start } = runnerRig();
  runner.kick();
  await end(start + 500);
  await clock.advance(100);
  runner.kick();
  await end(start + 700);
  await clock.advance(500);
  deepEqual(times, [0, 100]);
  await clock.advance(100);
  deepEqual(times, [0, 100, 700]);
  await end(start); // over already: at once
  deepEqual(times, [0, 100, 700, 700]);
});

Deno.test("a run that is due far ahead comes earlier, where the clock may have been set", async () => {
  const { runner, times, end, clock, start } = runnerRig();
  runner.kick();
  await end(start + 3_600_000);
  await clock.advance(59_999);
  deepEqual(times, [0]);
  await clock.advance(1);
  deepEqual(times, [0, 60_000]);
});

Deno.test("a run that fails is reported and repeated after a second", async () => {
  const { runner, times, errors, fail, end, clock } = runnerRig();
  const error = new Error("no store");
  runner.kick();
  await fail(error);
  deepEqual(errors, [error]);
  await clock.advance(999);
  deepEqual(times, [0]);
  await clock.advance(1);
  deepEqual(times, [0, 1000]);
  await end();
  equal(clock.waiting, 0);
});

Deno.test("work that throws before its first promise is a run that fails, too", async () => {
  const clock = new ManualClock();
  const errors: string[] = [];
  let runs = 0;
  const runner = new SerialRunner({
    run() {
      if (++runs === 1) throw new Error("at once");
      return Promise.resolve(undefined);
    },
    onError: (error) => void errors.push((error as Error).message),
    clock,
  });
  runner.kick();
  await runner.settled();
  await clock.advance(1000);
  deepEqual([runs, errors], [2, ["at once"]]);
});

Deno.test("its disposal waits for the run under way and starts none after it", async () => {
  const { runner, times, end, clock, start } = runnerRig();
  runner.kick();
  runner.kick();
  let isOver = false;
  const disposal = runner[Symbol.asyncDispose]().then(() => isOver = true);
  await clock.advance(0);
  equal(runner.isStopped, true);
  equal(isOver, false);
  await end(start + 10);
  await disposal;
  runner.kick();
  await clock.advance(1_000_000);
  deepEqual(times, [0]);
  equal(clock.waiting, 0);
});

Deno.test("its disposal forgets the run that was due", async () => {
  const { runner, times, end, clock, start } = runnerRig();
  runner.kick();
  await end(start + 10);
  await runner[Symbol.asyncDispose]();
  await clock.advance(1000);
  deepEqual(times, [0]);
});
