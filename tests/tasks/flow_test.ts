/**
 * The order of steps as pure decisions: which steps start, which never will, and how the task ends.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import {
  findFailure,
  type FlowStep,
  isOver,
  nextMoves,
  OUT_OF_TIME,
  type Standing,
  taskVerdict,
} from "../../src/tasks/run/flow.ts";
import { cpuMs } from "../helpers/cpu_time.ts";

/**
 * `a`, `b<-a`, `c<-a,b`, `d<-` (needs nothing), `e?` (continueOnError); nothing said: the one
 * before.
 */
function steps(text: string): FlowStep[] {
  return text.split(" ").map((word) => {
    const [, id = "", mark, needs] = /^(\w+)(\?)?(?:<-(.*))?$/.exec(word) ?? [];
    return {
      id,
      ...(needs === undefined ? {} : { needs: needs.split(",").filter((one) => one !== "") }),
      ...(mark === undefined ? {} : { continueOnError: true }),
    };
  });
}

const STATES: Readonly<Record<string, Standing["state"]>> = {
  ".": "pending",
  r: "running",
  s: "succeeded",
  f: "failed",
  c: "cancelled",
  k: "skipped",
};

/** One letter a step. */
function standings(text: string): Standing[] {
  return [...text].map((letter, at) => ({
    state: STATES[letter] ?? "pending",
    reason: `why ${at}`,
    finishedAt: 100 + at,
  }));
}

const MOVES: readonly [what: string, steps: string, now: string, ready: string, skip: string][] = [
  ["the first of a chain starts alone", "a b c", "...", "a", ""],
  ["the next one starts when the one before is done", "a b c", "s..", "b", ""],
  ["a step that runs is not started again", "a b", "r.", "", ""],
  ["steps that need nothing start side by side", "a b<- c<-", "...", "abc", ""],
  ["a step waits for everything it needs", "a b<- c<-a,b", "sr.", "", ""],
  ["and starts when all of it is done", "a b<- c<-a,b", "ss.", "c", ""],
  ["what needs a failure is skipped", "a b", "f.", "", "b:a failed"],
  ["and what needs that, in the same go", "a b c", "f..", "", "b:a failed c:b was skipped"],
  ["what was skipped for a failure holds up the rest", "a b c", "fk.", "", "c:b was skipped"],
  ["what was cancelled too", "a b", "c.", "", "b:a was cancelled"],
  ["independent branches go on", "a b<- c<-a d<-b", "fs..", "d", "c:a failed"],
  ["a step that its condition skipped satisfies", "a b", "k.", "b", ""],
  ["also in the middle of a chain", "a b c", "sk.", "c", ""],
  ["continueOnError lets the next one start", "a? b", "f.", "b", ""],
  ["continueOnError on what was skipped lets its next one start", "a b? c", "fk.", "c", ""],
  ["it is skipped first", "a b? c", "f..", "", "b:a failed"],
  [
    "one failure of several needs is enough, whatever still runs",
    "a b<- c<-a,b",
    "fr.",
    "",
    "c:a failed",
  ],
  ["order of writing does not matter", "c<-b b<-a a<-", "...", "a", ""],
  ["nothing is left", "a b", "sf", "", ""],
];

for (const [what, written, now, ready, skip] of MOVES) {
  Deno.test(`nextMoves: ${what}`, () => {
    const all = steps(written);
    const moves = nextMoves(all, standings(now));
    equal(moves.ready.map((place) => all[place]?.id).join(""), ready);
    const expected = skip.replaceAll(/(\w+):(\w+) (failed|was \w+)/g, '$1 needs "$2", which $3');
    equal(
      moves.skip.map(({ position, reason }) => `${all[position]?.id} ${reason}`).join(" "),
      expected,
    );
  });
}

Deno.test("nextMoves of a circle gives nothing, and ends", () => {
  deepEqual(nextMoves(steps("a<-b b<-a"), standings("..")), { ready: [], skip: [] });
});

Deno.test("nextMoves of ten thousand steps in a row takes no time to speak of", () => {
  const all = Array.from({ length: 10_000 }, (_, n) => ({ id: `s${n}` }));
  const now = standings("f" + ".".repeat(9_999));
  const start = cpuMs();
  equal(nextMoves(all, now).skip.length, 1 + 9_998);
  equal(cpuMs() - start < 2000, true);
});

const FAILURES: readonly [what: string, steps: string, now: string, failure: string | undefined][] =
  [
    ["all succeeded", "a b", "ss", undefined],
    ["skipped by its condition", "a b", "sk", undefined],
    ["one failed", "a b", "sf", 'step "b": why 1'],
    ["the first of two counts", "a b<-", "ff", 'step "a": why 0'],
    ["continueOnError does not count", "a? b", "fs", undefined],
    ["another one beside it does", "a? b", "ff", 'step "b": why 1'],
  ];

for (const [what, written, now, failure] of FAILURES) {
  Deno.test(`findFailure: ${what}`, () =>
    equal(findFailure(steps(written), standings(now)), failure));
}

Deno.test("findFailure names the failure that came first, whatever its place", () => {
  const [early, late] = standings("ff");
  deepEqual(
    findFailure(steps("a b<-"), [{ ...late, finishedAt: 9 } as Standing, early as Standing]),
    'step "a": why 1',
  );
  equal(
    findFailure(steps("a b<-"), [{ ...early, finishedAt: 900 } as Standing, late as Standing]),
    'step "b": why 1',
  );
});

Deno.test("findFailure: steps without time left are a failure, although none failed that counts", () => {
  const late: Standing = { state: "skipped", reason: OUT_OF_TIME };
  equal(findFailure(steps("a? b"), [...standings("f"), late]), OUT_OF_TIME);
});

const VERDICTS: readonly [
  what: string,
  steps: string,
  last: string,
  now: string,
  verdict: string,
][] = [
  ["all succeeded", "a b", "z", "sss", "succeeded"],
  ["a step failed", "a b", "z", "sfs", 'failed: step "b": why 1'],
  ["only a step under `finally` failed", "a b", "z", "ssf", 'failed: step "z": why 2'],
  ["both failed: the step counts", "a b", "z", "sff", 'failed: step "b": why 1'],
  ["a step was cancelled, whatever else failed", "a b<-", "z", "fcf", "cancelled"],
  ["a step never started", "a b", "z", "s.s", "cancelled"],
];

for (const [what, written, last, now, verdict] of VERDICTS) {
  Deno.test(`taskVerdict: ${what}`, () => {
    const plan = { steps: steps(written), finally: steps(last) };
    const { state, reason } = taskVerdict(plan, standings(now));
    equal(reason === "" ? state : `${state}: ${reason}`, verdict);
  });
}

Deno.test("isOver", () => {
  deepEqual([..."..rsfck"].map((letter) => isOver({ state: STATES[letter] ?? "pending" })), [
    false,
    false,
    false,
    true,
    true,
    true,
    true,
  ]);
});
