/**
 * A step that waits (`waitFor`): opens its wait, or looks whether that is over. It runs nothing. While
 * the wait is open its task needs no worker; when it is over, the step is run again and finds that out,
 * also after a restart, so there is one way through.
 *
 * @module
 */

import { oneLine } from "../../agents/readable.ts";
import { findInstant, rfc3339 } from "../../base/clock.ts";
import { findDurationSecs } from "../../base/duration.ts";
import { AppError } from "../../base/errors.ts";
import { compileTemplate, renderTemplate } from "../../cel/template.ts";
import { MAX_WAIT, MAX_WAIT_SECS, type WaitFor } from "../../resources/wait_for.ts";
import type { StepRecord } from "../../store/task_records.ts";
import type { AskedWait, Wait } from "../../store/wait_records.ts";
import type { StepLog } from "../log/task_log.ts";
import type { PositionedStep } from "./prepare_attempt.ts";
import { retryInRun, type TaskContext } from "./task_context.ts";
import type { Waiting } from "./waiting.ts";

/** Waits in a step; returns its last record, or that it waits. */
export async function waitInStep(
  { step: { id, waitFor = {} }, position }: PositionedStep,
  context: TaskContext,
  log: StepLog,
): Promise<StepRecord | Waiting> {
  const { host: { store, clock }, claimed: { task } } = context;
  const now = clock.now();
  const base = { position, id };
  // It is asked once: a template may give nothing, or something else, when its step is run again.
  const hasBegun = context.steps.records[position]?.state === "waiting";
  const dueAt = hasBegun ? latest(now) : await dueTime(waitFor, now, context).catch(refusal);
  if (dueAt instanceof AppError) {
    const times = { startedAt: now, finishedAt: now };
    return { ...base, ...times, state: "failed", reason: dueAt.message, failure: "error" };
  }
  const asked: AskedWait = {
    taskId: task.id,
    position,
    round: context.steps.records[position]?.round ?? 1,
    project: task.project,
    parts: [{ kind: "time", dueAt, isRelative: waitFor.for !== undefined }],
    now,
  };
  const wait = await retryInRun(context, () => store.openWait(asked));
  const { end, openedAt } = wait;
  if (end === undefined) {
    const until = dueAtOf(wait);
    return { state: "waiting", reason: `waits until ${rfc3339(until)}`, until, openedAt };
  }
  const times = { startedAt: openedAt, finishedAt: Math.max(openedAt, end.at) };
  switch (end.by) {
    case "time":
    case "answer":
    case "event":
    case "message":
      return { ...base, ...times, state: "succeeded", reason: "" };
    case "hand": {
      const reason = `continued by ${end.who}: ${end.reason}`;
      await log.note(`step "${id}" was ${reason}`);
      return { ...base, ...times, state: "succeeded", reason };
    }
    case "task":
      return { ...base, ...times, state: "cancelled", reason: "cancelled" };
  }
}

const dueAtOf = ({ parts }: Wait) => Math.min(...parts.map(({ dueAt }) => dueAt));

/** When a wait is over at the latest; a wait that is open keeps its own time, whatever is asked then. */
const latest = (now: number) => now + MAX_WAIT_SECS * 1000;

/**
 * When the wait is over if it is opened now.
 *
 * @throws {AppError} `invalid` when its template gives no time, or one that is too far away.
 */
async function dueTime(
  { for: time, until = "" }: WaitFor,
  now: number,
  { scope, evaluator }: TaskContext,
): Promise<number> {
  if (time !== undefined) return now + (findDurationSecs(time) ?? 0) * 1000;
  const text = (await renderTemplate(compileTemplate(until), scope, evaluator)).trim();
  const at = findInstant(text);
  if (at === undefined) {
    throw new AppError(
      "invalid",
      `"until" gave "${oneLine(text, 80)}", which is no time such as 2030-01-31T09:00:00Z`,
    );
  }
  if (at <= latest(now)) return at;
  throw new AppError("invalid", `"until" gave ${text}, which is more than ${MAX_WAIT} away`);
}

function refusal(error: unknown): AppError {
  if (error instanceof AppError && error.code === "invalid") return error;
  throw error;
}
