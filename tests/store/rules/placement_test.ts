/**
 * What becomes of the jobs of tasks that change, as a table.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { type JobActions, jobActions, type JobState } from "../../../src/store/rules/placement.ts";

const NONE: JobState = { job: "none", planHash: "h1" };
const READY: JobState = { job: "ready", planHash: "h1" };
const TAKEN: JobState = { job: "taken", planHash: "h1" };
const UNPLANNED: JobState = { job: "none" };

const CHANGES: readonly (readonly [
  what: string,
  before: JobState,
  after: JobState,
  actions: Partial<JobActions>,
])[] = [
  ["is stored, and ready", UNPLANNED, READY, { add: true }],
  ["is stored, and waits", UNPLANNED, NONE, {}],
  ["has room", NONE, READY, { add: true }],
  ["has room under another plan", NONE, { ...READY, planHash: "h2" }, { add: true }],
  ["gives up its room", READY, NONE, { end: true }],
  ["ends", TAKEN, NONE, { end: true }],
  ["is given back", TAKEN, READY, { putBack: true }],
  ["stays ready", READY, READY, {}],
  ["is joined by an event of another plan", READY, { ...READY, planHash: "h2" }, {
    end: true,
    add: true,
  }],
  ["waits, and is joined so", NONE, { ...NONE, planHash: "h2" }, {}],
];

for (const [what, before, after, actions] of CHANGES) {
  Deno.test(`the job of a task that ${what}`, () => {
    deepEqual(jobActions(before, after), { end: false, putBack: false, add: false, ...actions });
  });
}
