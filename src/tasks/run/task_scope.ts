/**
 * The variables of CEL expressions in a workflow while its task runs: the event, the task, the
 * steps so far, and the goal.
 *
 * @module
 */

import { findText } from "../../base/bytes.ts";
import { type JsonObject, parseOwnJson } from "../../base/json.ts";
import { type Scope, scopeOf } from "../../cel/expression.ts";
import type { ClaimedTask, StepRecord, TaskState } from "../../store/task_records.ts";

/**
 * Makes the scopes of a task, each for the state and goal it is given; how the steps stand in them
 * is always up to date.
 */
export function taskScopes(
  claimed: ClaimedTask,
  steps: { readonly records: readonly StepRecord[] },
): (state: TaskState, goal?: { readonly text: string }) => Scope {
  const { task: { id, workflow, workspace, project, trigger, deliveryId }, headers } = claimed;
  let payload: unknown;
  return (state, goal) => {
    const variables: JsonObject = {
      // Most steps use nothing of it, and it can have megabytes.
      get payload() {
        return payload ??= parsePayload(claimed.payload);
      },
      headers,
      trigger: { name: trigger, project },
      delivery: { id: deliveryId },
      task: { id, workflow, workspace, state },
      get steps() {
        return Object.fromEntries(steps.records.map((record) => [record.id, shownStep(record)]));
      },
      goal: goal?.text,
    };
    return scopeOf(variables, `tasks of ${project}/${trigger}`);
  };
}

function parsePayload(bytes: Uint8Array): unknown {
  return parseOwnJson(findText(bytes) || "{}");
}

/** A step that has not ended has no exit code and no outputs. */
function shownStep({ state, exitCode, outputs = {} }: StepRecord): JsonObject {
  return { state, exit_code: exitCode ?? null, outputs };
}
