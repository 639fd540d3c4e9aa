/**
 * `rateLimit` in numbers: a minute's worth at once, then one at a time, whatever the clock does.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { type RateState, reserveRateSlot } from "../../../src/store/rules/rate_limit.ts";
import type { Found } from "../../../src/store/rules/needs.ts";

const T0 = 1_700_000_000_000;
const SEC = 1000;
const HOUR = 3600 * SEC;

/** When tasks that come at these seconds may start, in seconds. */
function starts(perMinute: number, comeAt: readonly number[]): number[] {
  let state: Found<RateState> = "none";
  return comeAt.map((secs) => {
    const { startAt, next } = reserveRateSlot({ perMinute }, state, T0 + secs * SEC);
    state = next;
    return (startAt - T0) / SEC;
  });
}

const TABLE: readonly [perMinute: number, comeAt: number[], startAt: number[]][] = [
  [1, [0], [0]],
  [1, [0, 0, 0], [0, 60, 120]],
  [2, [0, 0, 0, 0], [0, 0, 30, 60]],
  [2, [0, 30, 60, 90], [0, 30, 60, 90]],
  [2, [0, 0, 10], [0, 0, 30]],
  [2, [0, 0, 300, 300, 300], [0, 0, 300, 300, 330]],
  [3, [0, 0, 0, 0, 20], [0, 0, 0, 20, 40]],
  [1, [0, -5, -5], [0, 60, 120]], // requests that overtook each other
];

for (const [perMinute, comeAt, startAt] of TABLE) {
  Deno.test(`${perMinute} a minute, coming at ${comeAt} s: start at ${startAt} s`, () => {
    deepEqual(starts(perMinute, comeAt), startAt);
  });
}

Deno.test("no minute sees more than two minutes' worth, and on average it is one", () => {
  const perMinute = 7;
  const at = starts(perMinute, Array.from({ length: 200 }, (_, n) => n / 10));
  for (const from of at) {
    ok(at.filter((one) => one >= from && one < from + 60).length <= 2 * perMinute);
  }
  ok((at.at(-1) ?? 0) >= (200 - perMinute) / perMinute * 60 - 1);
});

Deno.test("a clock that is set back by hours moves what is due back with it", () => {
  const state: RateState = { dueAt: T0 + 90 * SEC, seenAt: T0 };
  const back = T0 - 24 * HOUR;
  deepEqual(reserveRateSlot({ perMinute: 1 }, state, back), {
    startAt: back + 90 * SEC,
    next: { dueAt: back + 150 * SEC, seenAt: back },
  });
});

Deno.test("a clock that is set forward forgets what was used", () => {
  const state: RateState = { dueAt: T0 + 90 * SEC, seenAt: T0 };
  const ahead = T0 + HOUR;
  deepEqual(reserveRateSlot({ perMinute: 1 }, state, ahead), {
    startAt: ahead,
    next: { dueAt: ahead + 60 * SEC, seenAt: ahead },
  });
});
