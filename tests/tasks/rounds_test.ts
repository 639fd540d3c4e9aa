/**
 * `repeat` as pure decisions: which steps a round starts, how it ends, and what a retry of it begins with.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import type { CelResult } from "../../src/cel/expression.ts";
import type { StepRecord } from "../../src/store/task_records.ts";
import type { PlannedStep } from "../../src/tasks/plan.ts";
import {
  findFailure,
  neverRan,
  nextMoves,
  OUT_OF_TIME,
  taskVerdict,
  waitsFor,
} from "../../src/tasks/run/flow.ts";
import { keptSteps } from "../../src/tasks/run/kept_steps.ts";
import { endByItsSteps, endByUntil, type RoundEnd } from "../../src/tasks/run/rounds.ts";

/** `a B(c d<-) e`: a step, a `repeat` with two steps, and a step; `?` continues on error. */
function steps(text: string): PlannedStep[] {
  let within: string | undefined;
  return [...text.matchAll(/(\w+)(\?)?(?:<-([\w,]*))?(\()?(\))?/g)].map((found) => {
    const [, id = "", mark, needs, opens, closes] = found;
    const step = {
      id,
      ...defined({ within, needs: needs?.split(",").filter((one) => one !== "") }),
      ...mark === undefined ? {} : { continueOnError: true },
      ...opens === undefined ? {} : { repeat: { max: 3, until: "true" } },
    };
    if (opens !== undefined) within = id;
    if (closes !== undefined) within = undefined;
    return step;
  });
}

const STATES: Readonly<Record<string, StepRecord["state"]>> = {
  ".": "pending",
  w: "waiting",
  r: "running",
  s: "succeeded",
  f: "failed",
  c: "cancelled",
  k: "skipped",
};

/** A letter a step. */
const records = (all: readonly PlannedStep[], now: string) =>
  all.map(({ id }, position): StepRecord => ({
    position,
    id,
    state: STATES[now[position] ?? "."] ?? "pending",
    reason: now[position] === "f" ? "exit code 1" : "",
    finishedAt: position,
  }));

const MOVES: readonly [what: string, steps: string, now: string, ready: string, skip: string][] = [
  ["a repeat starts when it is its turn, and its steps do not", "a B(c d) e", ".....", "a", ""],
  ["it comes after what it needs", "a B(c d) e", "s....", "B", ""],
  ["in a round its first step starts, and nothing after it", "a B(c d) e", "sw...", "c", ""],
  ["the next one follows", "a B(c d) e", "swsr.", "", ""],
  ["one that waits looks again, the repeat does not", "a B(c d) e", "swsw.", "d", ""],
  ["a step beside it starts with the first", "a B(c d<-) e", "sw...", "cd", ""],
  ["when all are over the repeat goes on", "a B(c d) e", "swss.", "B", ""],
  ["also after a failure", "a B(c d) e", "swfk.", "B", ""],
  [
    "what needs a failure is skipped in the round",
    "a B(c d) e",
    "swf..",
    "",
    'd: needs "c", which failed',
  ],
  ["a failure that does not count lets the next one start", "a B(c? d) e", "swf..", "d", ""],
  ["after the repeat comes the next step", "a B(c d) e", "ssss.", "e", ""],
  [
    "after its failure, none",
    "a B(c d) e",
    "sffk.",
    "",
    'e: needs "B", which failed',
  ],
  ["unless it does not count", "a B?(c d) e", "sffk.", "e", ""],
  [
    "a repeat that was skipped has skipped its steps",
    "a B(c d) e",
    "sk...",
    "e",
    'c: is a step of "B", which was skipped d: is a step of "B", which was skipped',
  ],
  [
    "one that can never run too, one after the other",
    "a B(c) e",
    "f...",
    "",
    'B: needs "a", which failed e: needs "B", which was skipped',
  ],
  ["a repeat may be the first", "B(c d)", "...", "B", ""],
  ["and one may follow another", "B(c) D(e) f", "ss...", "D", ""],
  ["each has its own rounds", "B(c) D<-(e) f", "wsw..", "Be", ""],
];

for (const [what, written, now, ready, skip] of MOVES) {
  Deno.test(`nextMoves: ${what}`, () => {
    const all = steps(written);
    const moves = nextMoves(all, records(all, now));
    equal(moves.ready.map((place) => all[place]?.id).join(""), ready);
    equal(
      moves.skip.map(({ position, reason }) => `${all[position]?.id}: ${reason}`).join(" "),
      skip,
    );
  });
}

const ok = (value: unknown): CelResult => ({ ok: true, value });
const over = (state: "succeeded" | "failed", reason = ""): RoundEnd => ({
  is: "over",
  state,
  reason,
});

const ENDS: readonly [what: string, round: number, max: number, CelResult, RoundEnd][] = [
  ["true ends it", 1, 5, ok(true), over("succeeded")],
  ["true in the last round, too", 5, 5, ok(true), over("succeeded")],
  ["false begins the next round", 4, 5, ok(false), { is: "again" }],
  [
    "false in the last one fails",
    5,
    5,
    ok(false),
    over("failed", '"until" is false after 5 rounds'),
  ],
  ["max 1 is one round", 1, 1, ok(false), over("failed", '"until" is false after its only round')],
  [
    "an error fails at once",
    1,
    5,
    { ok: false, error: "no such key: state" },
    over("failed", 'round 1: "until" failed: no such key: state'),
  ],
  [
    "what is neither true nor false fails",
    2,
    5,
    ok("yes"),
    over("failed", 'round 2: "until" gave a text, neither true nor false'),
  ],
  [
    "null is not done",
    2,
    5,
    ok(null),
    over("failed", 'round 2: "until" gave null, neither true nor false'),
  ],
];

for (const [what, round, max, until, end] of ENDS) {
  Deno.test(`endByUntil: ${what}`, () => deepEqual(endByUntil({ round, max }, until), end));
}

Deno.test("endByItsSteps: a failure fails the repeat, unless its step goes on", () => {
  const end = (written: string, now: string) => {
    const all = steps(`B(${written})`);
    return endByItsSteps({ round: 2 }, all.slice(1), records(all, `w${now}`).slice(1));
  };
  equal(end("c d", "ss"), undefined);
  equal(end("c d", "kk"), undefined);
  equal(end("c? d", "fs"), undefined);
  deepEqual(end("c d", "fk"), over("failed", 'round 2: step "c": exit code 1'));
  deepEqual(end("c d", "sc"), { is: "over", state: "cancelled", reason: "cancelled" });
});

Deno.test("the failure of a step of a repeat is one of that", () => {
  const failure = (written: string, now: string) => {
    const all = steps(written);
    return findFailure(all, records(all, now));
  };
  equal(failure("B(c) d", "ffk"), 'step "B": exit code 1');
  equal(failure("B?(c) d", "ffs"), undefined);
  equal(failure("B(c?) d", "sfs"), undefined);
  const all = steps("B?(c) d");
  equal(taskVerdict({ steps: all }, records(all, "ffs")).state, "succeeded");
});

Deno.test("finally comes after a repeat, not after its last step", () => {
  deepEqual(waitsFor({ steps: steps("a B(c d)"), finally: [{ id: "z" }] }), [
    [],
    ["a"],
    [],
    ["c"],
    ["B"],
  ]);
});

/** What a retry begins with: the id of each step with its state and its round. */
function kept(written: string, now: string, { from, round = 1, reason = "" }: {
  readonly from?: string;
  readonly round?: number;
  readonly reason?: string;
} = {}): string {
  const all = steps(written);
  const were = records(all, now).map((record): StepRecord => {
    const step = all[record.position];
    const isIn = step?.within !== undefined || step?.repeat !== undefined;
    const begun = record.state === "succeeded" || record.state === "failed";
    return {
      ...record,
      reason: record.state === "skipped" ? reason : record.reason,
      ...begun ? { startedAt: 1 } : {},
      ...isIn && round > 1 ? { round, outputs: { of: `${round}` } } : {},
    };
  });
  return keptSteps({ plan: { steps: all }, records: were }, from)
    .map(({ id, state, round = 1, outputs }) =>
      `${id} ${state} ${round}${
        state === "pending" && outputs !== undefined ? " with outputs" : ""
      }`
    ).join(", ");
}

const KEPT: readonly [what: string, Parameters<typeof kept>, expected: string][] = [
  [
    "a repeat goes on in its round with the step that failed",
    ["a B(c d) e", "sfsfk", { round: 3 }],
    "a succeeded 1, B waiting 3, c succeeded 3, d pending 3 with outputs",
  ],
  [
    "in its first round too",
    ["a B(c d) e", "sfsfk"],
    "a succeeded 1, B waiting 1, c succeeded 1, d pending 1",
  ],
  [
    "from a step of it, in its round",
    ["a B(c d) e", "ssssf", { from: "d", round: 2 }],
    "a succeeded 1, B waiting 2, c succeeded 2, d pending 2 with outputs",
  ],
  ["from itself it begins at 1", ["a B(c d) e", "sfsfk", { from: "B", round: 3 }], "a succeeded 1"],
  ["so it does if what it needs runs again", ["a B(c d) e", "sfsfk", { from: "a", round: 3 }], ""],
  ["and if all rounds are used up", ["a B(c d) e", "sfssk", { round: 3 }], "a succeeded 1"],
  ["one that never began begins", ["a B(c d) e", "f....", {}], ""],
  ["one that is done is kept, its failures that did not count too", ["a B(c? d) e", "ssfsf", {
    round: 2,
  }], "a succeeded 1, B succeeded 2, c failed 2, d succeeded 2"],
  [
    "one whose task ran out of time goes on",
    ["B(c d)", "ksk", { round: 2, reason: OUT_OF_TIME }],
    "B waiting 2, c succeeded 2, d pending 2 with outputs",
  ],
  [
    "one whose task could not run begins",
    ["B(c d)", "kkk", { reason: neverRan("no workspace") }],
    "",
  ],
];

for (const [what, given, expected] of KEPT) {
  Deno.test(`keptSteps: ${what}`, () => equal(kept(...given), expected));
}
