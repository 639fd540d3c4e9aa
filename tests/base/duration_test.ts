/**
 * Durations: what people write, what is refused, and how lengths of time are shown.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import {
  DURATION_PATTERN,
  findDurationSecs,
  MAX_DURATION,
  MAX_DURATION_SECS,
  shortDuration,
} from "../../src/base/duration.ts";

const READ: readonly [string | number, number | undefined][] = [
  [0, 0],
  [90, 90],
  [-1, undefined],
  [1.5, undefined],
  [NaN, undefined],
  [Infinity, undefined],
  [2 ** 53, undefined],
  ["0", 0],
  ["10", 10],
  ["010", 10],
  ["10s", 10],
  ["10m", 600],
  ["1h30m", 5400],
  ["2d", 172_800],
  ["1w", 604_800],
  ["1w2d3h4m5s", 788_645],
  ["30m1h", 5400],
  ["999999999s", 999_999_999],
  ["36500d", MAX_DURATION_SECS],
  [MAX_DURATION, MAX_DURATION_SECS],
  [MAX_DURATION_SECS, MAX_DURATION_SECS],
  [MAX_DURATION_SECS + 1, undefined],
  ["36500d1s", undefined],
  ["99999999d", undefined],
  ["999999999w", undefined],
  ["9007199254740993s", undefined],
  ["1e9d", undefined],
  ["", undefined],
  [" ", undefined],
  ["m", undefined],
  ["10 m", undefined],
  ["10m ", undefined],
  ["10m\n", undefined],
  ["1.5h", undefined],
  ["-10m", undefined],
  ["+10m", undefined],
  ["10M", undefined],
  ["10ms", undefined],
  ["10y", undefined],
  ["1h30", undefined],
  ["1e3", undefined],
  ["0x10", undefined],
  ["١٠m", undefined],
  ["1234567890", undefined],
  ["1234567890s", undefined],
];

for (const [written, secs] of READ) {
  Deno.test(`findDurationSecs of ${JSON.stringify(written)} is ${secs}`, () => {
    equal(findDurationSecs(written), secs);
  });
}

Deno.test("findDurationSecs gives nothing that a double cannot count with", () => {
  equal(findDurationSecs("999999999w".repeat(40)), undefined);
});

Deno.test("DURATION_PATTERN matches whole texts only", () => {
  const matches = (text: string) => new RegExp(DURATION_PATTERN, "u").test(text);
  equal(["10m", "1h30m"].every(matches), true);
  equal(["", "10", "x10m", "10mx", "10m\n", "10m\n1h"].some(matches), false);
});

const SHOWN: readonly [number, string][] = [
  [-5, "0ms"],
  [0, "0ms"],
  [850, "850ms"],
  [999, "999ms"],
  [1000, "1s"],
  [59_999, "59s"],
  [60_000, "1m"],
  [192_000, "3m12s"],
  [3_599_999, "59m59s"],
  [3_600_000, "1h"],
  [7_500_000, "2h5m"],
  [86_399_999, "23h59m"],
  [86_400_000, "1d"],
  [90_000_000, "1d1h"],
  [777_600_000, "9d"],
];

for (const [ms, text] of SHOWN) {
  Deno.test(`shortDuration of ${ms} is ${text}`, () => equal(shortDuration(ms), text));
}
