/**
 * Which steps a retry carries over.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import type { StepRecord, StepState } from "../../src/store/task_records.ts";
import { OUT_OF_TIME } from "../../src/tasks/run/flow.ts";
import { keptSteps, withMessages } from "../../src/tasks/run/kept_steps.ts";
import type { PlannedStep } from "../../src/tasks/plan.ts";

/** A step and how it ended. */
interface Case extends Omit<PlannedStep, "run"> {
  readonly was: StepState;
  readonly reason?: string;
}

/** Ids of what is kept of these steps. */
function kept(cases: readonly Case[], from?: string): readonly string[] {
  const steps = cases.map(({ was: _was, reason: _reason, ...step }) => ({ ...step, run: "x" }));
  const records = cases.map(({ id, was, reason = "" }, position): StepRecord => ({
    position,
    id,
    reason,
    state: was,
  }));
  const last = [{ id: "clean", run: "x" }];
  const clean: StepRecord = { position: 9, id: "clean", state: "succeeded", reason: "" };
  return keptSteps({ plan: { steps, finally: last }, records: [...records, clean] }, from)
    .map(({ id }) => id);
}

const LINE: readonly Case[] = [
  { id: "a", was: "succeeded" },
  { id: "b", was: "succeeded" },
  { id: "c", was: "failed", reason: "exit code 1" },
  { id: "d", was: "skipped", reason: 'needs "c", which failed' },
];

Deno.test("keptSteps: the steps that succeeded before the failure, and none under finally", () => {
  deepEqual(kept(LINE), ["a", "b"]);
});

Deno.test("keptSteps from a step: the steps before it, and no other failed step", () => {
  deepEqual(kept(LINE, "b"), ["a"]);
  deepEqual(kept(LINE, "a"), []);
  deepEqual(kept(LINE, "d"), ["a", "b"]);
  deepEqual(kept(LINE, "clean"), ["a", "b"]);
});

const DIAMOND: readonly Case[] = [
  { id: "top", was: "succeeded" },
  { id: "left", needs: ["top"], was: "succeeded" },
  { id: "right", needs: ["top"], was: "failed", continueOnError: true },
  { id: "below", needs: ["left", "right"], was: "succeeded" },
  { id: "under", needs: ["below"], was: "succeeded" },
  { id: "alone", needs: [], was: "succeeded" },
];

Deno.test("keptSteps: what succeeded after a failure runs again with it, other branches do not", () => {
  deepEqual(kept(DIAMOND), ["top", "left", "alone"]);
  deepEqual(kept(DIAMOND, "left"), ["top", "alone"]);
  deepEqual(kept(DIAMOND, "alone"), ["top", "left"]);
  deepEqual(kept(DIAMOND, "top"), ["alone"]);
});

Deno.test("keptSteps: steps that need a later one, in whatever order they are written", () => {
  const cases: readonly Case[] = [
    { id: "last", needs: ["middle"], was: "succeeded" },
    { id: "middle", needs: ["first"], was: "succeeded" },
    { id: "first", needs: [], was: "succeeded" },
  ];
  deepEqual(kept(cases, "first"), []);
  deepEqual(kept(cases, "middle"), ["first"]);
});

Deno.test("keptSteps: a step that its own condition skipped is done, and what came after it", () => {
  const cases: readonly Case[] = [
    { id: "a", was: "succeeded" },
    { id: "maybe", when: "payload.x", was: "skipped", reason: "the condition is false" },
    { id: "after", was: "succeeded" },
    { id: "bad", was: "failed" },
  ];
  deepEqual(kept(cases), ["a", "maybe", "after"]);
});

Deno.test("keptSteps: a step that never came to its turn is not done, condition or not", () => {
  const never = [
    { was: "skipped", reason: "" },
    { was: "skipped", reason: OUT_OF_TIME },
    { was: "cancelled", reason: "cancelled" },
    { was: "pending" },
    { was: "running" },
  ] as const;
  for (const how of never) {
    const cases: readonly Case[] = [
      { id: "a", was: "succeeded" },
      { id: "b", when: "payload.x", ...how },
      { id: "c", was: "succeeded" },
    ];
    deepEqual(kept(cases), ["a"], JSON.stringify(how));
  }
  const unconditional: readonly Case[] = [{ id: "a", was: "skipped", reason: "anything" }];
  deepEqual(kept(unconditional), []);
});

Deno.test("keptSteps: of a task whose steps all succeeded, all but the named ones", () => {
  const cases: readonly Case[] = [
    { id: "a", was: "succeeded" },
    { id: "b", was: "succeeded" },
  ];
  deepEqual(kept(cases), ["a", "b"]);
  deepEqual(kept(cases, "b"), ["a"]);
});

/** Which messages the steps were given, and which they are given again. */
const GIVEN: readonly (readonly [
  what: string,
  records: readonly Partial<StepRecord>[],
  kept: readonly Partial<StepRecord>[],
  begin: readonly Partial<StepRecord>[],
])[] = [
  ["nobody had any", [{}, {}], [{ position: 0 }], [{ position: 0 }]],
  [
    "one that runs again",
    [{}, { state: "failed", readFrom: 2 }],
    [{ position: 0 }],
    [{ position: 0 }, { position: 1, state: "pending", readFrom: 2 }],
  ],
  ["one that is kept", [{ readFrom: 1 }], [{ readFrom: 1 }], [{ readFrom: 1 }]],
  [
    "one in the round in which its repeat goes on",
    [{ readFrom: 3, round: 2 }],
    [{ state: "pending", round: 2 }],
    [{ state: "pending", round: 2, readFrom: 3 }],
  ],
  [
    "one whose repeat begins anew",
    [{ readFrom: 3, round: 2 }],
    [],
    [{ state: "pending", readFrom: 0 }],
  ],
];

Deno.test("a step that a retry runs again is given the messages that it had", () => {
  for (const [what, records, kept, begin] of GIVEN) {
    const whole = (one: Partial<StepRecord>, position: number): StepRecord => ({
      position,
      id: `s${one.position ?? position}`,
      state: "succeeded",
      reason: "",
      ...one,
    });
    deepEqual(withMessages(records.map(whole), kept.map(whole)), begin.map(whole), what);
  }
});
