/**
 * Runs an ended task again, as a new one, and goes there.
 *
 * @module
 */

import type { TaskRecord } from "../../../../src/api/records.ts";
import { call } from "../../data/api.ts";
import { Action } from "../../parts/action.tsx";
import { go, href } from "../../route.ts";

/** Retries a task that has ended; with `from`, that step and all that need it. */
export function RetryAction(
  { task, from, isFailed = false }: {
    readonly task: TaskRecord;
    readonly from?: string;
    /** Whether that step is why the task failed. */
    readonly isFailed?: boolean;
  },
) {
  const { id, state, finished_at } = task;
  if (finished_at === null) return null;
  const what = from === undefined
    ? state === "succeeded"
      ? "A new task runs all of its steps again, on the same event."
      : "A new task runs what this one did not complete, on the same event. Steps that succeeded are carried over."
    : `A new task runs the step ${from} again, and all that need it, on the same event. Other steps that succeeded are carried over.`;
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
