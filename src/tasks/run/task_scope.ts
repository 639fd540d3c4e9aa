/**
 * The variables of CEL expressions in a workflow while its task runs: the event, the task, the
 * steps so far, the goal, and the inputs.
 *
 * @module
 */

import { findText } from "../../base/bytes.ts";
import { parseQuery } from "../../base/form.ts";
import { type JsonObject, parseOwnJson } from "../../base/json.ts";
import { type Scope, scopeOf } from "../../cel/expression.ts";
import { signedValues } from "../../signatures/coverage.ts";
import type { ClaimedTask, StepRecord, TaskState } from "../../store/task_records.ts";

/** The facts that expressions see beside the event and the steps. */
export interface ScopeFacts {
  readonly state: TaskState;
  /** Why the task failed or was cancelled; empty when absent. */
  readonly reason?: string;
  readonly goal?: { readonly text: string } | undefined;
  /** Whether the task could not run: expressions then see only the steps that ended. */
  readonly neverRan?: boolean;
}

/** Makes the scopes of a task, each for some facts; the states of steps are always up to date. */
export function taskScopes(
  claimed: ClaimedTask,
  steps: { readonly records: readonly StepRecord[] },
): (facts: ScopeFacts) => Scope {
  const { task: { conversation = "", ...task }, headers, inputs } = claimed;
  const { id, workflow, workspace, project, trigger, deliveryId } = task;
  const { url, method, remote } = claimed.request;
  let payload: unknown;
  return ({ state, reason = "", goal, neverRan = false }) => {
    const variables: JsonObject = {
      // Parsed on demand: most steps do not use it, and it can have megabytes.
      get payload() {
        return payload ??= parsePayload(claimed.payload);
      },
      get signed() {
        const received = {
          payload: payload ??= parsePayload(claimed.payload),
          headers,
          url,
          method,
        };
        return signedValues(claimed.coverage, received);
      },
      headers,
      get query() {
        return parseQuery(url);
      },
      method,
      remote,
      trigger: { name: trigger, project },
      delivery: { id: deliveryId },
      task: { id, workflow, workspace, state, reason },
      get steps() {
        const shown = neverRan ? steps.records.filter(hasRun) : steps.records;
        return Object.fromEntries(shown.map((record) => [record.id, shownStep(record)]));
      },
      goal: goal?.text,
      inputs,
      conversation,
    };
    return scopeOf(variables, `tasks of ${project}/${trigger}`);
  };
}

function parsePayload(bytes: Uint8Array): unknown {
  return parseOwnJson(findText(bytes) || "{}");
}

function hasRun({ state }: StepRecord): boolean {
  return state === "succeeded" || state === "failed";
}

/**
 * A step that has not ended has no exit code and no failure, and no outputs but those of the round before.
 * `rounds` is the number of rounds that it has begun, for the steps of a `repeat` and for that itself.
 */
function shownStep(
  { state, exitCode, failure, round = 1, outputs = {} }: StepRecord,
): JsonObject {
  const hasBegun = round > 1 || state !== "pending" && state !== "skipped";
  const rounds = hasBegun ? round : 0;
  return { state, exit_code: exitCode ?? null, failure: failure ?? "", outputs, rounds };
}
