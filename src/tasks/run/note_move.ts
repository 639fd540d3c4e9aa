/**
 * Says in the log of a task that it comes from another node, and what that means for its steps.
 *
 * @module
 */

import type { ClaimedTask } from "../../store/task_records.ts";
import { TaskLog } from "../log/task_log.ts";
import { isOver } from "./flow.ts";
import type { RunHost } from "./task_context.ts";

/** Adds a line where the task has steps that another node ran. */
export async function noteMove(
  { task, move }: ClaimedTask,
  { logs, clock, secrets, events }: Pick<RunHost, "logs" | "clock" | "secrets" | "events">,
  stop: AbortSignal,
): Promise<void> {
  const next = task.steps.find((step) => !isOver(step));
  if (move === undefined || next === undefined) return;
  const onWritten = () => events.publish("logWritten", { taskId: task.id });
  await using log = new TaskLog(logs.of(task.id), { clock, secrets, onWritten, stop });
  const taken = `node "${move.to}" took over from node "${move.from}"`;
  await log.step(next.id).note(
    move.isAnew
      ? `${taken}; the task starts over, because the files of its steps are there`
      : taken,
  );
}
