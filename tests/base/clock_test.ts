/**
 * Timers and pauses, of the machine's clock and of the clock that tests move.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { findInstant, rfc3339, systemClock } from "../../src/base/clock.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

const DAY_MS = 24 * 3600 * 1000;

Deno.test("after does not call at once when the time is longer than a timer takes", async () => {
  const called: string[] = [];
  {
    using _month = systemClock.after(30 * DAY_MS, () => called.push("month"));
    await systemClock.pause(10); // a timer that is too long for the runtime is due after 1 ms
  }
  deepEqual(called, []);
});

Deno.test("after calls in the order of time, and never when it is disposed", async () => {
  const called: string[] = [];
  systemClock.after(5, () => called.push("disposed"))[Symbol.dispose]();
  using _late = systemClock.after(20, () => called.push("late"));
  using _soon = systemClock.after(10, () => called.push("soon"));
  await systemClock.pause(20); // set last, so called after what is due at the same time
  deepEqual(called, ["soon", "late"]);
});

Deno.test("every calls again and again until it is disposed", async () => {
  const { promise: thrice, resolve } = Promise.withResolvers<void>();
  let calls = 0;
  {
    using _ticks = systemClock.every(1, () => ++calls === 3 && resolve());
    await thrice;
  }
  await systemClock.pause(5);
  equal(calls, 3);
});

Deno.test("pause ends with its signal, and leaves no timer behind", async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  let isOver = false;
  const paused = clock.pause(60_000, stop.signal).then(() => isOver = true);
  await clock.advance(59_999);
  equal(isOver, false);
  equal(clock.waiting, 1);
  stop.abort();
  await paused;
  equal(clock.waiting, 0);
  equal(clock.monotonicMs(), 59_999);
  await clock.pause(60_000, AbortSignal.abort()); // resolves at once, although the clock does not move
});

Deno.test("the machine's pause ends with its signal: the test runner would find its timer", async () => {
  const stop = new AbortController();
  const paused = systemClock.pause(DAY_MS, stop.signal).then(() => "ended");
  const { promise: late, reject } = Promise.withResolvers<never>();
  using _late = systemClock.after(60_000, () => reject(new Error("The signal was not heard")));
  stop.abort();
  equal(await Promise.race([paused, late]), "ended");
});

Deno.test("a manual clock calls what is due in order, and what follows from it, each at its time", async () => {
  const clock = new ManualClock(1000);
  const called: [what: string, at: number][] = [];
  const note = (what: string) => called.push([what, clock.now()]);
  clock.after(20, () => note("second"));
  clock.after(10, () => {
    note("first");
    clock.after(5, () => note("after the first"));
  });
  const pausing = async () => {
    await clock.pause(12);
    note("pause");
    await clock.pause(8);
    note("again");
  };
  const over = pausing();
  clock.after(21, () => note("not yet"));
  await clock.advance(20);
  await over;
  deepEqual(called, [
    ["first", 1010],
    ["pause", 1012],
    ["after the first", 1015],
    ["second", 1020],
    ["again", 1020],
  ]);
  equal(clock.waiting, 1);
});

const SHOWN: readonly (readonly [number, string])[] = [
  [8.64e15 + 1, "9999-12-31T23:59:59.999Z"],
  [8.64e15, "9999-12-31T23:59:59.999Z"],
  [Infinity, "9999-12-31T23:59:59.999Z"],
  [253_402_300_799_999, "9999-12-31T23:59:59.999Z"],
  [-62_167_219_200_000, "0000-01-01T00:00:00.000Z"],
  [-62_167_219_200_001, "0000-01-01T00:00:00.000Z"],
  [-Infinity, "0000-01-01T00:00:00.000Z"],
  [NaN, "1970-01-01T00:00:00.000Z"],
];

for (const [ms, text] of SHOWN) {
  Deno.test(`rfc3339 of ${ms} is ${text}, and never throws`, () => equal(rfc3339(ms), text));
}

const INSTANTS: readonly (readonly [string, number | undefined])[] = [
  ["1970-01-01T00:00:01Z", 1000],
  ["1970-01-01t00:00:00.5678z", 567],
  ["1970-01-01T01:00:00+01:00", 0],
  ["2028-02-29T00:00:00Z", 1_835_395_200_000],
  ["2030-02-29T00:00:00Z", undefined],
  ["2030-06-31T09:00:00Z", undefined],
  ["2030-13-01T09:00:00Z", undefined],
  ["2030-01-31T24:00:00Z", undefined],
  ["2030-01-31T09:60:00Z", undefined],
  ["2030-01-31T09:00:00+99:00", undefined],
  ["2030-01-31T09:00:00", undefined],
  ["2030-01-31", undefined],
  [" 2030-01-31T09:00:00Z", undefined],
  ["", undefined],
];

for (const [text, ms] of INSTANTS) {
  Deno.test(`the time of "${text}" is ${ms ?? "none"}`, () => equal(findInstant(text), ms));
}

Deno.test("rfc3339 is UTC with milliseconds", () => equal(rfc3339(0), "1970-01-01T00:00:00.000Z"));
