/**
 * The check before the first step of a task: whether the sender of its event may start it, if its
 * trigger demands that (`from`).
 *
 * @module
 */

import { findText } from "../../base/bytes.ts";
import { parseOwnJson } from "../../base/json.ts";
import type { Task } from "../../store/task_records.ts";
import type { TaskResult, TaskRun } from "./task_context.ts";

/** Whether a step of the task has started: such a task goes on after an interruption. */
export function hasBegun({ startedAt: since = 0, steps }: Task): boolean {
  return steps.some(({ startedAt = -1 }) => startedAt >= since);
}

/**
 * The result of a task that may not start; `undefined` where it may. A task that has begun already goes
 * on. An event that an operator fired (without a request) has no sender to check.
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
