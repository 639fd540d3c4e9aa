/**
 * Budgets as tables: which window counts, who has room, what a run counts as, and when people are told.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { AskedMore, RunUsage } from "../../../src/store/budget_records.ts";
import {
  answered,
  decisiveBudget,
  hasRoom,
  isNearEnd,
  isSameQuestion,
  newestSpend,
  type Reservation,
  reservedIn,
  settled,
  type StoredSpend,
  type WithoutRoom,
  withoutRoom,
} from "../../../src/store/rules/budgets.ts";

const DAY = 86_400_000;
const key = { scope: "agent/claude", unit: "usd", per: "day" } as const;
const TODAY = { startsAt: 10 * DAY, endsAt: 11 * DAY };
const spend = (more: Partial<StoredSpend> = {}): StoredSpend => ({
  ...key,
  window: TODAY,
  spent: 70,
  unknown: 1,
  granted: 0,
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

Deno.test("a step fails if one budget says so, waits for the window that ends last, or asks", () => {
  const lacking = (endsAt: number, does: WithoutRoom = "waits") => ({
    does,
    window: { startsAt: 0, endsAt },
  });
  equal(decisiveBudget([]), undefined);
  equal(decisiveBudget([lacking(1), lacking(3), lacking(2)])?.window.endsAt, 3);
  deepEqual(decisiveBudget([lacking(9), lacking(1, "fails")]), lacking(1, "fails"));
  deepEqual(decisiveBudget([lacking(9, "asks"), lacking(1)]), lacking(1), "it would still wait");
  deepEqual(decisiveBudget([lacking(2, "asks"), lacking(3, "asks")]), lacking(3, "asks"));
});

const ASKS = { by: ["@ops"], timeoutMs: 1000 };
const WITHOUT: readonly [
  what: string,
  budget: { readonly fails?: true; readonly asks?: typeof ASKS },
  spend: Partial<StoredSpend>,
  isAsked: boolean,
  does: WithoutRoom,
][] = [
  ["it says so", { fails: true }, { spent: 100 }, false, "fails"],
  ["nobody is asked", {}, { spent: 100 }, false, "waits"],
  ["nobody was asked yet", { asks: ASKS }, { spent: 100 }, false, "asks"],
  ["the rest is too little", { asks: ASKS }, { spent: 96 }, false, "asks"],
  ["runs that work may give some back", { asks: ASKS }, { spent: 95 }, false, "waits"],
  ["another step asks", { asks: ASKS }, { spent: 100 }, true, "waits"],
  ["what was allowed is used up, too", { asks: ASKS }, { spent: 200, granted: 100 }, false, "asks"],
  ["some of that is left", { asks: ASKS }, { spent: 195, granted: 100 }, false, "waits"],
  ["people have said no", { asks: ASKS }, { spent: 100, refused: "no" }, false, "fails"],
  ["they said no before nobody was asked", {}, { spent: 100, refused: "no" }, false, "waits"],
];

for (const [what, { fails = false, asks }, more, isAsked, does] of WITHOUT) {
  Deno.test(`a step without room ${does}: ${what}`, () => {
    const budget = { fails, limit: 100, perRun: 5, ...(asks === undefined ? {} : { asks }) };
    equal(withoutRoom(budget, spend(more), isAsked), does);
  });
}

const MORE: AskedMore = {
  ...key,
  startsAt: TODAY.startsAt,
  amount: 100,
  spent: 99,
  granted: 0,
  by: ["@ops"],
};

Deno.test("only a yes lets more be used, and a no holds as silence does", () => {
  const by = (answer: "approved" | "rejected", comment = "") =>
    ({ by: "answer", answer, who: ["ada"], comment, fields: {}, at: 1, part: 0 }) as const;
  const before = spend({ granted: 100, told: 100 });
  deepEqual(answered(before, MORE, by("approved")), spend({ granted: 200, told: 0 }));
  const no = answered(before, MORE, by("rejected", "enough\nfor today"));
  deepEqual(no, { ...before, refused: "more was rejected by ada: enough for today" });
  const late = answered(before, MORE, { by: "time", at: 1, part: 0 });
  deepEqual(late, { ...before, refused: "nobody has allowed more in time" });
  for (const other of ["task", "budget"] as const) {
    deepEqual(answered(before, MORE, { by: other, at: 1, part: 0 }), before);
  }
});

Deno.test("a question is another one when what is asked, when, or who is asked differs", () => {
  equal(isSameQuestion(MORE, { ...MORE, spent: 100 }), true);
  for (
    const other of [{ amount: 200 }, { granted: 100 }, { startsAt: 0 }, { by: ["ada"] }, {
      scope: "agent/codex",
    }]
  ) {
    equal(isSameQuestion(MORE, { ...MORE, ...other }), false);
  }
});
