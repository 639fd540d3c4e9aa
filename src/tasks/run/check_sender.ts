/**
 * The check before the first step of a task: whether the one whose event started it may do so, where
 * its trigger asks for that.
 *
 * @module
 */

import { findText } from "../../base/bytes.ts";
import { parseOwnJson } from "../../base/json.ts";
import type { Task } from "../../store/task_records.ts";
import type { TaskResult } from "./task_result.ts";
import type { TaskRun } from "./task_context.ts";

/** Whether a step of the task has started: then it goes on after an interruption. */
export function hasBegun({ startedAt: since = 0, steps }: Task): boolean {
  return steps.some(({ startedAt = -1 }) => startedAt >= since);
}

/**
 * How a task ends that may not start; `undefined` where it may. A task that has begun already goes on,
 * and what an operator fired was written by nobody outside.
 */
export async function checkSender(
  { claimed, plan, host, signals }: TaskRun,
): Promise<TaskResult | undefined> {
  const { task, payload, request, coverage } = claimed;
  const { from: guard } = plan;
  if (guard === undefined || request.method === "") return undefined;
  if (hasBegun(task)) return undefined;
  const signal = AbortSignal.any([signals.stop, signals.cancel]);
  const question = {
    project: task.project,
    guard,
    payload: parseOwnJson(findText(payload) ?? "null"),
    coverage,
  };
  const refusal = await host.senders.whyNot(question, signal);
  if (signals.stop.aborted) return { state: "interrupted", reason: "" };
  if (signals.cancel.aborted) return { state: "cancelled", reason: "" };
  return refusal;
}
