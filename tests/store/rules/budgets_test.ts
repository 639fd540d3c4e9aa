/**
 * Budgets as tables: which window counts, who has room, what a run counts as, and when people are told.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { RunUsage } from "../../../src/store/budget_records.ts";
import {
  decisiveBudget,
  hasRoom,
  isNearEnd,
  newestSpend,
  type Reservation,
  reservedIn,
  settled,
  type StoredSpend,
} from "../../../src/store/rules/budgets.ts";

const DAY = 86_400_000;
const key = { scope: "agent/claude", unit: "usd", per: "day" } as const;
const TODAY = { startsAt: 10 * DAY, endsAt: 11 * DAY };
const spend = (more: Partial<StoredSpend> = {}): StoredSpend => ({
  ...key,
  window: TODAY,
  spent: 70,
  unknown: 1,
  told: 80,
  ...more,
});
const reservation = (more: Partial<Reservation> = {}): Reservation => ({
  ...key,
  startsAt: TODAY.startsAt,
  perRun: 5,
  limit: 100,
  ...more,
});

const WINDOWS: readonly [what: string, now: number, asked: number, kept: boolean][] = [
  ["it goes on", 10.5 * DAY, 10, true],
  ["the next one has begun", 11 * DAY, 11, false],
  ["the clock was set back by an hour", 9.96 * DAY, 9, true],
  ["the clock was set back by a day", 9 * DAY, 9, true],
  ["the clock had been far ahead", 8.9 * DAY, 8, false],
  ["its time zone was changed", 10.5 * DAY, 10.4, true],
];

for (const [what, now, asked, kept] of WINDOWS) {
  Deno.test(`a window is ${kept ? "kept" : "begun anew"}: ${what}`, () => {
    const window = { startsAt: asked * DAY, endsAt: (asked + 1) * DAY };
    const stored = spend();
    const newest = newestSpend(key, { stored, window, now });
    deepEqual(newest, kept ? stored : spend({ window, spent: 0, unknown: 0, told: 0 }));
  });
}

Deno.test("what is set aside counts in its own budget and window", () => {
  const others = [
    reservation({ scope: "agent/codex" }),
    reservation({ unit: "tokens" }),
    reservation({ per: "hour" }),
    reservation({ startsAt: 9 * DAY }),
  ];
  deepEqual(reservedIn(spend(), others), { reserved: 0, running: 0 });
  deepEqual(reservedIn(spend(), [...others, reservation(), reservation({ perRun: 7 })]), {
    reserved: 12,
    running: 2,
  });
});

const ROOM: readonly [spent: number, reserved: number, perRun: number, room: boolean][] = [
  [0, 0, 10, true],
  [0, 0, 11, false],
  [5, 4, 1, true],
  [5, 5, 1, false],
  [12, 0, 1, false],
];

for (const [spent, reserved, perRun, room] of ROOM) {
  Deno.test(`of 10, ${spent} spent and ${reserved} set aside: ${perRun} more ${room ? "fit" : "do not"}`, () =>
    equal(hasRoom({ limit: 10, perRun }, { spent, reserved }), room));
}

const USED: readonly [
  what: string,
  unit: Reservation["unit"],
  usage: RunUsage | undefined,
  more: Pick<StoredSpend, "spent" | "unknown">,
][] = [
  ["what it cost", "usd", { usd: 3 }, { spent: 73, unknown: 1 }],
  ["more than perRun", "usd", { usd: 300 }, { spent: 370, unknown: 1 }],
  ["nothing, if it says so", "usd", { usd: 0 }, { spent: 70, unknown: 1 }],
  ["perRun, if nobody knows", "usd", {}, { spent: 75, unknown: 2 }],
  ["perRun, if it tells of less than nothing", "usd", { usd: -9 }, { spent: 75, unknown: 2 }],
  ["perRun, if it tells of something else", "tokens", { usd: 3 }, { spent: 75, unknown: 2 }],
  ["one run", "runs", {}, { spent: 71, unknown: 1 }],
  ["nothing, if it never began", "usd", undefined, { spent: 70, unknown: 1 }],
  ["no run, if it never began", "runs", undefined, { spent: 70, unknown: 1 }],
];

for (const [what, unit, usage, more] of USED) {
  Deno.test(`a run counts as ${what} (${unit})`, () =>
    deepEqual(settled(spend({ unit }), reservation({ unit }), usage), spend({ unit, ...more })));
}

Deno.test("a run counts where it began: a window that came after is as it was", () =>
  deepEqual(settled(spend(), reservation({ startsAt: 9 * DAY }), { usd: 3 }), spend()));

Deno.test("people are told at 80 %, once", () => {
  equal(isNearEnd(spend({ spent: 79, told: 0 }), 100), false);
  equal(isNearEnd(spend({ spent: 80, told: 0 }), 100), true);
  for (const told of [80, 100]) equal(isNearEnd(spend({ spent: 99, told }), 100), false);
});

Deno.test("a step waits for the window that ends last, and fails if one budget says so", () => {
  const lacking = (endsAt: number, fails = false) => ({
    budget: { ...key, limit: 1, perRun: 1, fails, window: TODAY },
    window: { startsAt: 0, endsAt },
  });
  equal(decisiveBudget([]), undefined);
  equal(decisiveBudget([lacking(1), lacking(3), lacking(2)])?.window.endsAt, 3);
  equal(decisiveBudget([lacking(9), lacking(1, true)])?.budget.fails, true);
});
