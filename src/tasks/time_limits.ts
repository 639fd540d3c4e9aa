/**
 * The time limits of a task and of an attempt at one of its steps: those of the manifests, which the plan
 * has copied, else the settings of the daemon. The settings are not copied: after a restart with other
 * settings, those hold for tasks that wait and for steps that begin. Pure.
 *
 * @module
 */

import { findDurationSecs, MAX_DURATION_SECS, shortDuration } from "../base/duration.ts";
import { agentsOf, type Plan, type PlannedStep } from "./plan.ts";

/** The limits in the daemon's settings, as written; no limit when absent. */
export interface DefaultLimits {
  /** The limit of an attempt at a step (`step-timeout`). */
  readonly step?: string;
  /** The limit of a whole task (`task-timeout`). */
  readonly task?: string;
}

/** The time limit of a step as written, and the setting that it comes from. */
export interface StepLimit {
  readonly time: string | number;
  /** The origin in words, for the reason of a step that it ended. */
  readonly whose: string;
  readonly from: "step" | "agent" | "finally" | "step-timeout";
}

/** The time limit of a task as written, and the setting that it comes from. */
export interface TaskLimit {
  readonly time: string | number;
  /** `steps` if their own limits together exceed the setting; `time` is then in seconds. */
  readonly from: "workflow" | "steps" | "task-timeout";
}

/** Limit of a `finally` step without one, so that every task comes to an end. */
const FINALLY_TIMEOUT_SECS = 300;
/** Longest pause between two attempts. */
const MAX_BACKOFF_SECS = 3600;

/** The limit of each attempt at a step; `undefined` if only the limit of the task holds, or none. */
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
  // A limit of the whole task in the manifest replaces the setting for its steps.
  if (plan.timeout !== undefined || limits.step === undefined) return undefined;
  return { time: limits.step, whose: "the daemon's step-timeout", from: "step-timeout" };
}

/**
 * The limit of a task; `undefined` if it has none. The setting of the daemon never ends a task before the
 * time that the timeouts and retries in the manifests allow.
 */
export function taskLimitOf(
  plan: Pick<Plan, "timeout" | "steps">,
  { task }: DefaultLimits,
): TaskLimit | undefined {
  if (plan.timeout !== undefined) return { time: plan.timeout, from: "workflow" };
  if (task === undefined) return undefined;
  const rounds = new Map(plan.steps.map(({ id, repeat }) => [id, repeat?.max ?? 1]));
  const allowedSecs = plan.steps.reduce(
    (sum, step) => sum + (rounds.get(step.within ?? "") ?? 1) * writtenSecs(step),
    0,
  );
  if (allowedSecs <= (findDurationSecs(task) ?? 0)) return { time: task, from: "task-timeout" };
  return { time: Math.min(allowedSecs, MAX_DURATION_SECS), from: "steps" };
}

/** The limit of a task in milliseconds; `undefined` if it has none. */
export function taskLimitMs(plan: Plan, limits: DefaultLimits): number | undefined {
  const limit = taskLimitOf(plan, limits);
  const secs = limit === undefined ? undefined : findDurationSecs(limit.time);
  return secs === undefined ? undefined : secs * 1000;
}

/** Seconds that the manifests allow for a step, in a round if it is one of a `repeat`: its attempts, and the pauses between them. */
function writtenSecs(step: PlannedStep): number {
  const attempts = step.retry?.attempts ?? 1;
  const limits = step.timeout === undefined
    ? agentsOf(step).map(({ timeout = 0 }) => timeout)
    : [step.timeout];
  const secs = limits.reduce<number>((sum, time) => sum + (findDurationSecs(time) ?? 0), 0);
  let pauses = 0;
  for (let attempt = 1; attempt < attempts; attempt++) pauses += backoffSecs(step, attempt);
  return attempts * secs + pauses;
}

/** The pause after an attempt, in seconds; each pause is twice as long as the previous one. */
export function backoffSecs({ retry }: Pick<PlannedStep, "retry">, attempt: number): number {
  return Math.min((retry?.backoffSecs ?? 1) * 2 ** (attempt - 1), MAX_BACKOFF_SECS);
}

/** Reason of a step that the limit of its task has ended. */
export function timedOutWithTask(plan: Plan, limits: DefaultLimits): string {
  const { time, from } = taskLimitOf(plan, limits) ?? { time: 0, from: "workflow" };
  const origin = {
    "workflow": `whose timeout is ${timeText(time)}`,
    "steps": `which may take ${
      shortDuration(Number(time) * 1000)
    }, as its steps and their retries say`,
    "task-timeout": `which may take ${timeText(time)}, the daemon's task-timeout`,
  }[from];
  return `timed out with its task, ${origin}`;
}

/** A time as its author wrote it; a number without a unit gets its unit. */
export function timeText(time: string | number): string {
  return typeof time === "number" ? `${time}s` : time;
}
