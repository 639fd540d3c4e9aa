/**
 * The log of a task while it runs here, and the line that says that it comes from another node.
 *
 * @module
 */

import type { ClaimedTask } from "../../store/task_records.ts";
import { TaskLog } from "../log/task_log.ts";
import { isOver } from "./flow.ts";
import type { RunHost } from "./task_context.ts";

/** Opens the log of a task to continue it; `stop` ends retries of writes that fail. */
export function openLog(
  taskId: string,
  { logs, clock, secrets, events }: RunHost,
  stop: AbortSignal,
): TaskLog {
  const onWritten = () => events.publish("logWritten", { taskId });
  return new TaskLog(logs.of(taskId), { clock, secrets, onWritten, stop });
}

/** Adds a line to the log of a task whose steps another node ran before. */
export async function noteMove(
  { task, move }: ClaimedTask,
  host: RunHost,
  stop: AbortSignal,
): Promise<void> {
  const next = task.steps.find((step) => !isOver(step));
  if (move === undefined || next === undefined) return;
  await using log = openLog(task.id, host, stop);
  const taken = `node "${move.to}" took over from node "${move.from}"`;
  await log.step(next.id).note(
    move.isAnew
      ? `${taken}; the task starts over, because the files of its steps are there`
      : taken,
  );
}
