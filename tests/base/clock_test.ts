/**
 * Timers and pauses.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { after, pause, rfc3339 } from "../../src/base/clock.ts";

Deno.test("after does not call at once when the time is longer than a timer takes", async () => {
  const called: string[] = [];
  {
    using _month = after(30 * 24 * 3600 * 1000, () => called.push("month"));
    using _soon = after(10, () => called.push("soon"));
    await pause(60);
  }
  deepEqual(called, ["soon"]);
});

Deno.test("after does not call once it is disposed", async () => {
  const called: string[] = [];
  after(10, () => called.push("late"))[Symbol.dispose]();
  await pause(40);
  deepEqual(called, []);
});

Deno.test("pause ends with its signal", async () => {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 10);
  await pause(60_000, stop.signal);
  await pause(60_000, AbortSignal.abort());
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

Deno.test("rfc3339 is UTC with milliseconds", () => equal(rfc3339(0), "1970-01-01T00:00:00.000Z"));
