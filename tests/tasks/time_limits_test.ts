/**
 * How long a step and a task may take, and whose limit that is.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import type { Plan, PlannedStep } from "../../src/tasks/plan.ts";
import {
  type DefaultLimits,
  limitOf,
  taskLimitMs,
  taskLimitOf,
  timedOutWithTask,
} from "../../src/tasks/time_limits.ts";

const SET: DefaultLimits = { step: "1h", task: "6h" };
const agent = (timeout?: string): NonNullable<PlannedStep["agent"]> => ({
  name: "claude",
  command: "claude",
  promptDelivery: "stdin",
  env: {},
  ...defined({ timeout }),
});
const step = (given: Partial<PlannedStep> = {}): PlannedStep => ({ id: "a", ...given });
const plan = (steps: readonly PlannedStep[], timeout?: string): Plan => ({
  steps,
  env: {},
  workspace: { path: "/w", env: {} },
  ...defined({ timeout }),
});

const STEPS: readonly (readonly [string, Partial<PlannedStep>, {
  readonly isFinally?: true;
  readonly workflow?: string;
  readonly limits?: DefaultLimits;
}, unknown])[] = [
  ["its own timeout", { timeout: "2h", agent: agent("5m") }, {}, ["2h", "step"]],
  ["its agent's", { agent: agent("5m") }, {}, ["5m", "agent"]],
  ["the setting's", { agent: agent() }, {}, ["1h", "step-timeout"]],
  ["none where the workflow has a timeout", {}, { workflow: "12h" }, undefined],
  ["none where the setting is none", {}, { limits: {} }, undefined],
  ["five minutes under finally", {}, { isFinally: true }, [300, "finally"]],
  ["its own under finally", { timeout: 7 }, { isFinally: true }, [7, "step"]],
];

for (const [name, given, { isFinally = false, workflow, limits = SET }, expected] of STEPS) {
  Deno.test(`a step has ${name}`, () => {
    const limit = limitOf(step(given), { isFinally, plan: plan([], workflow), limits });
    deepEqual(limit && [limit.time, limit.from], expected);
  });
}

const TASKS: readonly (readonly [string, Plan, DefaultLimits, unknown])[] = [
  ["its workflow's timeout", plan([step()], "12h"), SET, ["12h", "workflow"]],
  ["the setting's", plan([step(), step({ timeout: "5h" })]), SET, ["6h", "task-timeout"]],
  ["none where the setting is none", plan([step({ timeout: "8h" })]), {}, undefined],
  ["what one step may take", plan([step({ timeout: "8h" })]), SET, [8 * 3600, "steps"]],
  [
    "what its steps may take together",
    plan([step({ timeout: "4h" }), step({ agent: agent("3h") })]),
    SET,
    [7 * 3600, "steps"],
  ],
  [
    "what attempts may take, with the pauses between them",
    plan([step({ timeout: "3h", retry: { attempts: 3, backoffSecs: 600 } })]),
    SET,
    [9 * 3600 + 600 + 1200, "steps"],
  ],
  [
    "what the pauses of retries take",
    plan([step({ retry: { attempts: 10, backoffSecs: 3600 } })]),
    SET,
    [9 * 3600, "steps"],
  ],
  [
    "no more than can be shown",
    plan([step({ timeout: "36500d", retry: { attempts: 100 } })]),
    SET,
    [36_500 * 86_400, "steps"],
  ],
];

for (const [name, given, limits, expected] of TASKS) {
  Deno.test(`a task has ${name}`, () => {
    const limit = taskLimitOf(given, limits);
    deepEqual(limit && [limit.time, limit.from], expected);
    deepEqual(taskLimitMs(given, limits) === undefined, limit === undefined);
  });
}

Deno.test("the limit that ends a task is named, with its value", () => {
  deepEqual([
    timedOutWithTask(plan([], "90s"), SET),
    timedOutWithTask(plan([step()]), SET),
    timedOutWithTask(plan([step({ timeout: "8h" })]), SET),
  ], [
    "timed out with its task, whose timeout is 90s",
    "timed out with its task, which may take 6h, the daemon's task-timeout",
    "timed out with its task, which may take 8h, as its steps and their retries say",
  ]);
});
