/**
 * One step of a task with all its attempts: records it before and after each, repeats it after a
 * pause where it may be retried, and ends it early on cancellation. `attempt_step.ts` makes one
 * attempt.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { compileExpression, whyNotTrue } from "../../cel/expression.ts";
import type { StepRecord } from "../../store/task_records.ts";
import type { StepLog } from "../log/task_log.ts";
import type { CancelCause, CancellationScope } from "../cancellation_scope.ts";
import type { PlannedStep } from "../plan.ts";
import type { TaskContext } from "./task_context.ts";
import { backoffSecs, timedOutWithTask } from "../time_limits.ts";
import { attemptByAgents } from "./agent_turn.ts";
import { type AttemptResult, attemptStep } from "./attempt_step.ts";
import type { PositionedStep } from "./prepare_attempt.ts";
import { readySince } from "./ready_since.ts";
import { repeatInStep } from "./repeat_step.ts";
import { INTERRUPTED } from "./step_recorder.ts";
import { askInStep } from "./approval_step.ts";
import { startInStep } from "./child_step.ts";
import { waitInStep } from "./wait_step.ts";
import type { Waiting } from "./waiting.ts";

/**
 * Runs a step to its end, or until `cancellation` ends it; the record is on its way to the store
 * when this resolves. A step that is to continue after a restart is recorded as `pending`, and one that
 * waits as `waiting`, and returned.
 */
export async function runStep(
  placed: PositionedStep,
  context: TaskContext,
  cancellation: CancellationScope,
): Promise<Waiting | undefined> {
  const { step, position } = placed;
  const hasBegun = context.steps.records[position]?.state === "waiting";
  const whyNot = hasBegun ? undefined : await whySkipped(step, context);
  if (whyNot !== undefined) {
    context.steps.record({ ...blank(placed), state: "skipped", ...whyNot });
    return undefined;
  }
  const before = context.steps.records[position];
  const log = context.log.step(step.id);
  if (before?.reason === INTERRUPTED) {
    await log.note(`step "${step.id}" was interrupted and runs again`);
  }
  const result = await runForm(placed, context, { cancellation, log, before });
  if (result === undefined) return undefined;
  if (isWaiting(result)) {
    if (before?.reason === result.reason) return result;
    await log.note(`step "${step.id}" ${result.reason}`);
    const { reason, openedAt: startedAt } = result;
    // an agent that asks for more of a budget has a record of its attempt
    if (startedAt !== undefined && step.agent === undefined) {
      context.steps.record({ ...blank(placed), startedAt, state: "waiting", reason });
    }
    return result;
  }
  if (result.state === "failed") await log.note(`step "${step.id}" failed: ${result.reason}`);
  context.steps.record(result);
  return undefined;
}

/** Does what its form says: runs a program or rounds, waits, asks people, or starts another task. */
function runForm(
  placed: PositionedStep,
  context: TaskContext,
  how: Parameters<typeof makeAttempts>[2],
): Promise<StepRecord | Waiting | undefined> {
  const { repeat, waitFor, approval, workflow } = placed.step;
  if (repeat !== undefined) return repeatInStep({ ...placed, repeat }, context, how.log);
  if (waitFor !== undefined) return waitInStep(placed, context, how.log);
  if (approval !== undefined) return askInStep({ ...placed, approval }, context, how.log);
  if (workflow !== undefined) return startInStep({ ...placed, workflow }, context);
  return makeAttempts(placed, context, how);
}

/**
 * Makes attempts at a step, from the one on at which its record stands, until it succeeds, waits, or may
 * not be repeated. Returns its last record; `undefined` when the daemon stops between two attempts. That,
 * and that it waits, is recorded already.
 */
async function makeAttempts(
  placed: PositionedStep,
  context: TaskContext,
  { cancellation, log, before }: {
    readonly cancellation: CancellationScope;
    readonly log: StepLog;
    readonly before: StepRecord | undefined;
  },
): Promise<StepRecord | Waiting | undefined> {
  const { host: { clock }, steps } = context;
  const { step } = placed;
  const { attempts = 1 } = step.retry ?? {};
  const { attempt: first = 1, startedAt: began } = before ?? {};
  const startedAt = began ?? clock.now();
  const reading = context.inbox.of(before);
  for (let number = first;; number++) {
    const base = { ...blank(placed), startedAt, ...(number === 1 ? {} : { attempt: number }) };
    let hasStarted = number > 1 || began !== undefined;
    const onStart = (group: number) => {
      hasStarted = true;
      steps.recordStarted({ ...base, ...reading.record, state: "running", processGroup: group });
    };
    const attempt = { context, cancellation, number, log, reading, onStart };
    const wasCut = hasStarted || before?.reason === INTERRUPTED;
    const end = step.agent === undefined
      ? await attemptStep(placed, attempt)
      : await attemptByAgents(placed, attempt, {
        since: began ?? readySince(placed, context),
        wasCut,
      });
    if (end.state === "waiting") {
      const { startedAt: _since, ...unstarted } = base;
      const { reason } = end;
      if (steps.records[placed.position]?.reason !== reason) {
        const begun = hasStarted ? base : unstarted;
        steps.record({ ...begun, ...reading.record, state: "waiting", reason });
      }
      return end;
    }
    const { isHopeless, failure = "error", ...result } = end;
    const hasFailed = result.state === "failed";
    if (!hasFailed || number >= attempts || isHopeless === true) {
      const last = hasFailed ? { ...result, failure } : result;
      const read = { ...base, ...reading.record };
      return lastRecord(read, last, { attempt: number, finishedAt: clock.now() });
    }

    // From here on a cancellation counts as between two attempts, even if it came just now.
    const secs = backoffSecs(step, number);
    const failed = `attempt ${number} of ${attempts}: ${result.reason}, the next one`;
    if (cancellation.why === undefined) await log.note(`${failed} in ${secs} s`);
    const reason = `${failed} at ${rfc3339(clock.now() + secs * 1000)}`;
    const tried = { ...base, ...reading.record, ...result };
    steps.record({ ...tried, state: "pending", reason, attempt: number + 1 });
    await steps.flush();
    await clock.pause(secs * 1000, cancellation.signal);
    if (cancellation.why === "stop") return undefined;
    if (cancellation.why !== undefined) {
      const end = endedFor(cancellation.why, context);
      return { ...tried, ...end, finishedAt: clock.now() };
    }
  }
}

function isWaiting(result: StepRecord | Waiting): result is Waiting {
  return result.state === "waiting";
}

/** The fields that every record of a step has. */
function blank({ step, position }: PositionedStep) {
  return { position, id: step.id, reason: "" };
}

/** The record of a step after its last attempt. */
function lastRecord(
  base: Omit<StepRecord, "state">,
  result: AttemptResult,
  { attempt, finishedAt }: { attempt: number; finishedAt: number },
): StepRecord {
  if (result.state === "pending") {
    const { position, id, readFrom, unreadFrom } = base;
    return {
      position,
      id,
      state: "pending",
      reason: INTERRUPTED,
      attempt,
      ...defined({ readFrom, unreadFrom }),
    };
  }
  const after = result.state === "failed" && attempt > 1 ? `, after ${attempt} attempts` : "";
  return { ...base, ...result, reason: result.reason + after, finishedAt };
}

/** How a step ends whose task ends between two attempts. */
function endedFor(
  why: Exclude<CancelCause, "stop">,
  { plan, host: { timeLimits } }: TaskContext,
): Pick<StepRecord, "state" | "reason" | "failure"> {
  return why === "cancel"
    ? { state: "cancelled", reason: "cancelled" }
    : { state: "failed", reason: timedOutWithTask(plan, timeLimits), failure: "timeout" };
}

/** Why a step is skipped; `undefined` when it runs. Only a condition that is `true` lets it run. */
async function whySkipped(
  { when }: PlannedStep,
  context: TaskContext,
): Promise<{ reason: string } | undefined> {
  if (when === undefined) return undefined;
  const why = whyNotTrue(await context.evaluator.evaluate(compileExpression(when), context.scope));
  return why === undefined ? undefined : { reason: `its condition ${why}` };
}
