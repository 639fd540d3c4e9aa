/**
 * How long a task and one attempt at a step of it may take: what is written in the manifests, as the
 * plan has copied it, and the daemon's settings where nothing is. The settings are not copied: after a
 * restart with others, those hold for what waits and for what begins from then on. Pure.
 *
 * @module
 */

import { findDurationSecs, MAX_DURATION_SECS, shortDuration } from "../base/duration.ts";
import type { Plan, PlannedStep } from "./plan.ts";

/** What the daemon sets where no manifest says it, as written; no limit when absent. */
export interface DefaultLimits {
  /** Of an attempt at a step (`step-timeout`). */
  readonly step?: string;
  /** Of a whole task (`task-timeout`). */
  readonly task?: string;
}

/** A time limit as written, and whose it is. */
export interface StepLimit {
  readonly time: string | number;
  /** In words, for the reason of a step that it ended. */
  readonly whose: string;
  readonly from: "step" | "agent" | "finally" | "step-timeout";
}

/** The time limit of a task as written, and whose it is. */
export interface TaskLimit {
  readonly time: string | number;
  /** `steps` where their own limits allow more than the setting: then in seconds. */
  readonly from: "workflow" | "steps" | "task-timeout";
}

/** Limit of a `finally` step that has none: whatever happened, the task comes to an end. */
const FINALLY_TIMEOUT_SECS = 300;
/** Longest pause between two attempts. */
const MAX_BACKOFF_SECS = 3600;

/** The limit of each attempt at a step; `undefined` where only the task's own holds, or none. */
export function limitOf(
  { timeout, agent }: Pick<PlannedStep, "timeout" | "agent">,
  { isFinally, plan, limits }: {
    readonly isFinally: boolean;
    readonly plan: Pick<Plan, "timeout">;
    readonly limits: DefaultLimits;
  },
): StepLimit | undefined {
  if (timeout !== undefined) return { time: timeout, whose: "the step's timeout", from: "step" };
  if (agent?.timeout !== undefined) {
    const whose = `the timeout of Agent "${agent.name}"`;
    return { time: agent.timeout, whose, from: "agent" };
  }
  if (isFinally) {
    const whose = 'the limit of a "finally" step without a timeout';
    return { time: FINALLY_TIMEOUT_SECS, whose, from: "finally" };
  }
  // who has limited the whole task has said how long its steps may take
  if (plan.timeout !== undefined || limits.step === undefined) return undefined;
  return { time: limits.step, whose: "the daemon's step-timeout", from: "step-timeout" };
}

/**
 * The limit of a task; `undefined` where it has none. The daemon's setting never cuts short what the
 * timeouts and retries in the manifests allow.
 */
export function taskLimitOf(
  plan: Pick<Plan, "timeout" | "steps">,
  { task }: DefaultLimits,
): TaskLimit | undefined {
  if (plan.timeout !== undefined) return { time: plan.timeout, from: "workflow" };
  if (task === undefined) return undefined;
  const allowedSecs = plan.steps.reduce((sum, step) => sum + writtenSecs(step), 0);
  if (allowedSecs <= (findDurationSecs(task) ?? 0)) return { time: task, from: "task-timeout" };
  return { time: Math.min(allowedSecs, MAX_DURATION_SECS), from: "steps" };
}

/** The limit of a task in milliseconds; `undefined` where it has none. */
export function taskLimitMs(plan: Plan, limits: DefaultLimits): number | undefined {
  const limit = taskLimitOf(plan, limits);
  const secs = limit === undefined ? undefined : findDurationSecs(limit.time);
  return secs === undefined ? undefined : secs * 1000;
}

/** What the manifests allow a step to take: its attempts, and the pauses between them. */
function writtenSecs(step: PlannedStep): number {
  const attempts = step.retry?.attempts ?? 1;
  const secs = findDurationSecs(step.timeout ?? step.agent?.timeout ?? 0) ?? 0;
  let pauses = 0;
  for (let attempt = 1; attempt < attempts; attempt++) pauses += backoffSecs(step, attempt);
  return attempts * secs + pauses;
}

/** The pause after an attempt, in seconds; doubled each time. */
export function backoffSecs({ retry }: Pick<PlannedStep, "retry">, attempt: number): number {
  return Math.min((retry?.backoffSecs ?? 1) * 2 ** (attempt - 1), MAX_BACKOFF_SECS);
}

/** Reason of a step that the limit of its task has ended. */
export function timedOutWithTask(plan: Plan, limits: DefaultLimits): string {
  const { time, from } = taskLimitOf(plan, limits) ?? { time: 0, from: "workflow" };
  const said = {
    "workflow": `whose timeout is ${timeText(time)}`,
    "steps": `which may take ${
      shortDuration(Number(time) * 1000)
    }, as its steps and their retries say`,
    "task-timeout": `which may take ${timeText(time)}, the daemon's task-timeout`,
  }[from];
  return `timed out with its task, ${said}`;
}

/** A time as its author wrote it, with the unit of a bare number. */
export function timeText(time: string | number): string {
  return typeof time === "number" ? `${time}s` : time;
}
