/**
 * Retries and requests to cancel, as tables over where the task stands.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { type CancelledTask, decideCancel } from "../../../src/store/rules/cancel.ts";
import type { Found } from "../../../src/store/rules/needs.ts";
import { decideRetry, type RetriedTask } from "../../../src/store/rules/retry.ts";
import type { RetryOf } from "../../../src/store/task_records.ts";

const group = { digest: new Uint8Array(32), max: 2 };
const OLD: RetriedTask = {
  state: "failed",
  planHash: "h1",
  hasDirectory: true,
  limits: { group, workspace: { project: "default", name: "repo", max: 1 } },
};
const PLANNED: NonNullable<RetryOf["planned"]> = {
  workflow: "ci",
  workspace: "other",
  plan: { hash: "h2", json: "{}" },
};

const { planHash: _none, ...NEVER_PLANNED } = OLD;

type Asked = Partial<Pick<RetryOf, "planned" | "keepDirectory">>;
const conflict = (message: string) => ({ refused: "conflict", message });

type Retry = readonly [what: string, asked: Asked, old: Found<RetriedTask>, decision: object];

const RETRIES: readonly Retry[] = [
  ["one that is gone", {}, "none", { refused: "not_found", message: 'No task "t1"' }],
  ...(["pending", "running"] as const).map((state) =>
    [
      `one that is ${state}`,
      {},
      { ...OLD, state },
      conflict("Task t1 has not ended: cancel it, or wait for it"),
    ] as const
  ),
  ...(["failed", "cancelled", "succeeded"] as const).map((state) =>
    [
      `one that is ${state}`,
      {},
      { ...OLD, state },
      { planHash: "h1", limits: OLD.limits },
    ] as const
  ),
  ["in its directory", { keepDirectory: true }, OLD, { planHash: "h1", limits: OLD.limits }],
  [
    "in a directory that another retry has",
    { keepDirectory: true },
    { ...OLD, hasDirectory: false },
    conflict("Another retry of task t1 runs in its directory: wait for it, or cancel it"),
  ],
  [
    "one that never had a plan",
    {},
    NEVER_PLANNED,
    conflict("Task t1 could never run: apply what was missing first"),
  ],
  [
    "one that never had a plan, with one, in another workspace",
    { planned: PLANNED },
    NEVER_PLANNED,
    { planHash: "h2", limits: { group, workspace: { project: "default", name: "other" } } },
  ],
  [
    "with a plan, in a workspace with a limit",
    { planned: { ...PLANNED, workspaceMax: 4 } },
    { ...OLD, limits: { workspace: OLD.limits.workspace } },
    { planHash: "h2", limits: { workspace: { project: "default", name: "other", max: 4 } } },
  ],
];

for (const [what, asked, old, decision] of RETRIES) {
  Deno.test(`a retry of ${what}`, () => {
    deepEqual(decideRetry({ of: "t1", keepDirectory: false, ...asked }, old), decision);
  });
}

const CANCELS: readonly [task: Found<CancelledTask>, decision: string][] = [
  ["none", "ended"],
  [{ state: "pending", hasStarted: false }, "cancelled"],
  [{ state: "pending", hasStarted: true }, "stopping"], // it was interrupted, and has steps to end
  [{ state: "running", hasStarted: true }, "stopping"],
  [{ state: "succeeded", hasStarted: true }, "ended"],
  [{ state: "failed", hasStarted: false }, "ended"],
  [{ state: "cancelled", hasStarted: false }, "ended"],
];

for (const [task, decision] of CANCELS) {
  Deno.test(`to cancel ${JSON.stringify(task)}: ${decision}`, () => {
    equal(decideCancel(task), decision);
  });
}
