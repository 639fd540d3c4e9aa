/**
 * Retries an ended task as a new task, and goes to the screen of that one.
 *
 * @module
 */

import type { TaskRecord } from "../../../../src/api/records.ts";
import { call } from "../../data/api.ts";
import { Action } from "../../parts/action.tsx";
import { go, href } from "../../route.ts";

/** Retries an ended task; with `from`, only that step and the steps that need it. */
export function RetryAction(
  { task, from, isFailed = false }: {
    readonly task: TaskRecord;
    readonly from?: string;
    /** Whether the failure of that step made the task fail. */
    readonly isFailed?: boolean;
  },
) {
  const { id, state, finished_at } = task;
  if (finished_at === null) return null;
  const what = from === undefined
    ? state === "succeeded"
      ? "Starts a new task that runs all steps again, on the same event."
      : "Starts a new task, on the same event, that runs only the steps this one did not complete. Steps that succeeded are carried over."
    : `Starts a new task, on the same event, that runs step ${from} again and every step that needs it. Other steps that succeeded are carried over.`;
  return (
    <Action
      label={from === undefined ? "Retry" : `Retry from ${from}`}
      question={what}
      primary={from !== undefined && isFailed}
      command={`svc task retry ${id}${from === undefined ? "" : ` --from ${from}`}`}
      act={async () => {
        const made = await call("task.retry", from === undefined ? { id } : { id, from });
        go(href(["task", made.id]));
        return made.note;
      }}
    />
  );
}
