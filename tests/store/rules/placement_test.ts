/**
 * Where tasks go on, and what becomes of the jobs of tasks that change, as tables.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import {
  type JobActions,
  jobActions,
  type JobState,
  type PlacedWorkspace,
  staysBehind,
} from "../../../src/store/rules/placement.ts";

const WORKSPACES: readonly (readonly [PlacedWorkspace, staysBehind: boolean])[] = [
  [{ path: "workspaces/default", isolation: "shared" }, true],
  [{ path: "workspaces/default" }, true],
  [{ path: "./~/odd", isolation: "shared" }, true],
  [{ path: "", isolation: "shared" }, true],
  [{ path: "/srv/repo", isolation: "shared" }, false],
  [{ path: "/srv/repo" }, false],
  [{ path: "~/repo", isolation: "shared" }, false],
  [{ path: "~", isolation: "shared" }, false],
  [{ path: "/srv/repo", isolation: "worktree" }, true],
  [{ path: "~/repo", isolation: "copy" }, true],
];

for (const [workspace, expected] of WORKSPACES) {
  Deno.test(`what steps leave in ${JSON.stringify(workspace)} ${expected ? "stays" : "is anywhere"}`, () => {
    equal(staysBehind(workspace), expected);
  });
}

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
