/**
 * The variables that expressions in a workflow see while its task runs (CEL): the event,
 * the task, the steps so far, and the goal.
 *
 * @module
 */

import { findText } from "../../base/bytes.ts";
import { type JsonObject, parseOwnJson } from "../../base/json.ts";
import { type Scope, scopeOf } from "../../cel/expression.ts";
import type { ClaimedTask, StepRecord, TaskState } from "../../store/task_records.ts";

/** What changes while a task runs. */
export interface Progress {
  /** How each step stands. */
  readonly records: readonly StepRecord[];
  /** How the task stands: what it has come to, once its `finally` steps run. */
  readonly state: TaskState;
  /** The goal, once it is known. */
  readonly goal: { readonly text: string } | undefined;
}

/** A scope that always shows how things stand. */
export function taskScope(claimed: ClaimedTask, progress: Progress): Scope {
  const { task, headers } = claimed;
  const { id, workflow, workspace } = task;
  let payload: unknown;
  const variables: JsonObject = {
    // Most steps look at nothing of it, and it can have megabytes.
    get payload() {
      return payload ??= parsePayload(claimed.payload);
    },
    headers,
    trigger: { name: task.trigger, project: task.project },
    delivery: { id: task.deliveryId },
    get task() {
      return { id, workflow, workspace, state: progress.state };
    },
    get steps() {
      return Object.fromEntries(progress.records.map((record) => [record.id, shownStep(record)]));
    },
    get goal() {
      return progress.goal?.text;
    },
  };
  return scopeOf(variables, `tasks of ${task.project}/${task.trigger}`);
}

function parsePayload(bytes: Uint8Array): unknown {
  return parseOwnJson(findText(bytes) || "{}");
}

/** A step that has not ended has no exit code, and no outputs yet. */
function shownStep({ state, exitCode, outputs = {} }: StepRecord): JsonObject {
  return { state, exit_code: exitCode ?? null, outputs };
}
