/**
 * What several events of one request are told as: one order, for every answer, record and count.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import {
  bestOf,
  countsText,
  type EventOutcome,
  startedTasks,
} from "../../src/store/delivery_records.ts";

type Outcome = EventOutcome["outcome"];

const CASES: readonly [readonly Outcome[], Outcome | undefined][] = [
  [[], undefined],
  [["filtered"], "filtered"],
  [["filtered", "skipped"], "skipped"],
  [["skipped", "filtered", "duplicate"], "duplicate"],
  [["duplicate", "filtered", "accepted", "skipped"], "accepted"],
];

for (const [outcomes, best] of CASES) {
  Deno.test(`bestOf ${outcomes.join(", ") || "nothing"} is ${best}`, () => {
    const given = outcomes.map((outcome) => ({ outcome, reason: "" }));
    equal(bestOf(given)?.outcome, best);
    equal(bestOf(given.toReversed())?.outcome, best);
  });
}

Deno.test("bestOf gives the first of equals, startedTasks each task once, countsText each number", () => {
  const events: EventOutcome[] = [
    { outcome: "duplicate", reason: "", taskId: "old" },
    { outcome: "accepted", reason: "", taskId: "b" },
    { outcome: "accepted", reason: "", taskId: "a" },
    { outcome: "accepted", reason: "joined", taskId: "b" },
  ];
  equal(bestOf(events), events[1]);
  deepEqual(startedTasks(events), ["b", "a"]);
  equal(countsText(events), "3 accepted, 1 duplicate");
});
