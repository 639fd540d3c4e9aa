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

Deno.test("rfc3339 is UTC with milliseconds", () => equal(rfc3339(0), "1970-01-01T00:00:00.000Z"));
