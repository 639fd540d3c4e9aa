/**
 * Waiting with a shared deadline: who is served in time, who is not, and that no timer stays
 * behind, which the sanitizer of the test runner looks at.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { SharedTimeout } from "../../src/http/shared_timeout.ts";

const LATE = () => new Error("late");
const after = (ms: number) =>
  new Promise<string>((resolve) => setTimeout(() => resolve("done"), ms));

Deno.test("SharedTimeout: what comes in time is handed on, failures too", async () => {
  const list = new SharedTimeout(10_000);
  equal(await list.wait(Promise.resolve("at once"), LATE), "at once");
  equal(await list.wait(after(5), LATE), "done");
  await rejects(list.wait(Promise.reject(new Error("broke")), LATE), /^Error: broke$/);
});

Deno.test("SharedTimeout: who comes later is given up later, each after its own time", async () => {
  using timer = intervalByHand();
  const list = new SharedTimeout(160);
  const given: [who: string, ms: number][] = [];
  const give = (who: string) => {
    const late = () => {
      given.push([who, timer.ms]);
      return LATE();
    };
    return list.wait(new Promise<never>(() => {}), late).catch(() => {});
  };
  const first = give("first");
  timer.pass(80);
  const second = give("second");
  equal(await list.wait(Promise.resolve("in time"), LATE), "in time");
  timer.pass(1000);
  await Promise.all([first, second]);
  deepEqual(given, [["first", 170], ["second", 250]]); // each a tick after its own 160 ms
  equal(timer.runs, false);
});

/** Stands in for the interval timer; the time passes when the test says so. */
function intervalByHand() {
  const real = { setInterval, clearInterval };
  let [tick, every] = [() => {}, 0];
  const timer = {
    ms: 0,
    runs: false,
    pass(ms: number) {
      for (const end = timer.ms + ms; timer.ms < end; timer.runs && tick()) timer.ms += every;
    },
    [Symbol.dispose]: () => void Object.assign(globalThis, real),
  };
  Object.assign(globalThis, {
    setInterval(then: () => void, ms: number) {
      [tick, every, timer.runs] = [then, ms, true];
      return 1;
    },
    clearInterval: () => void (timer.runs = false),
  });
  return timer;
}

Deno.test("SharedTimeout: used again after everybody has gone", async () => {
  const list = new SharedTimeout(50);
  for (let round = 0; round < 3; round++) {
    equal(await list.wait(after(1), LATE), "done");
    const { promise: late, resolve: come } = Promise.withResolvers<void>();
    await rejects(list.wait(late, LATE), /late/);
    come();
  }
});
