/**
 * One attempt at a step: runs its process, reads its outputs and judges how it ended.
 * `prepare_attempt.ts` makes the command.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { findDurationSecs } from "../../base/duration.ts";
import { AppError } from "../../base/errors.ts";
import type { LimitName } from "../../shell/cgroups.ts";
import { runShell, type ShellExit } from "../../shell/run_shell.ts";
import type { StepRecord } from "../../store/task_records.ts";
import type { CancellationScope } from "../cancellation_scope.ts";
import type { StepLog } from "../log/task_log.ts";
import type { CommandSandbox } from "../sandbox/command_sandbox.ts";
import { controlOf } from "../sandbox/step_sandbox.ts";
import { CapturedOutput } from "../step/captured_output.ts";
import {
  AgentOutput,
  type AgentUsage,
  type ProcessEnd,
  usedBy,
  withTokens,
} from "../step/agent_output.ts";
import { readOutputs } from "../step/step_outputs.ts";
import { hasReadAll } from "../reading.ts";
import {
  limitOf,
  type StepLimit,
  taskLimitMs,
  timedOutWithTask,
  timeText,
} from "../time_limits.ts";
import {
  type AgentWork,
  ATTEMPT_MARK,
  type PositionedStep,
  prepareAttempt,
  type PreparedAttempt,
} from "./prepare_attempt.ts";
import type { StepReading } from "./inbox_reading.ts";
import { clearShortage, whenMachineCan } from "./short_machine.ts";
import { refusal, type RunHost, type TaskContext } from "./task_context.ts";

export type { AgentUsage };

/** An attempt at a step of a running task. */
export interface Attempt {
  readonly context: TaskContext;
  /** Ends the attempt early. */
  readonly cancellation: CancellationScope;
  /** The number of the attempt, from 1. */
  readonly number: number;
  readonly log: StepLog;
  /** The messages that the step is given, and has read. */
  readonly reading: StepReading;
  /** Called with the process group as soon as it exists. */
  readonly onStart: (group: number) => void;
  /** Called if that group could not start the step. */
  readonly onNotStarted?: () => void;
  /** What an agent goes on with; absent for a shell line. */
  readonly work?: AgentWork;
}

/** Result of an attempt; `pending` when the daemon stops and the attempt has to be made again. */
export type AttemptResult =
  & Pick<StepRecord, "reason" | "exitCode" | "outputs" | "failure" | "network" | "session">
  & {
    readonly state: "succeeded" | "failed" | "cancelled" | "pending";
    /** Whether another attempt would fail in the same way, because the workflow has to change. */
    readonly isHopeless?: boolean;
    /** A limit that holds for the Agent of the step, with its end in milliseconds since the epoch if that is known. */
    readonly limit?: { readonly resetsAt?: number };
    /** Whether an agent has done anything of its work. */
    readonly hasWorked?: boolean;
    /** Whether an agent did not find the session with which it was to go on. */
    readonly hasLostSession?: boolean;
    /** What an agent has used; absent if it never began. */
    readonly usage?: AgentUsage;
  };

/** Longest time for which an agent is believed that its limit lasts, if svc cannot see it. */
const MAX_TOLD_MS = 3_600_000;

/** Time between TERM and KILL, for a step that is ended early. */
const GRACE_MS = 5000;

/**
 * Runs a step once. If the machine is short of something that the step needs to start, the step waits
 * for it; only the first step of a task throws instead, so that the task can be given back.
 *
 * @throws {AppError} `overloaded` in that case; other errors are bugs or failures of the store.
 */
export async function attemptStep(
  positioned: PositionedStep,
  attempt: Attempt,
): Promise<AttemptResult> {
  const { context, cancellation, onStart } = attempt;
  const { host, steps } = context;
  let hasBegun = false;
  const started: Attempt = {
    ...attempt,
    onStart(group) {
      hasBegun = true;
      clearShortage(host.health);
      onStart(group);
    },
    onNotStarted() {
      hasBegun = false;
      attempt.onNotStarted?.();
    },
  };
  const result = await whenMachineCan(() => attemptOnce(positioned, started), host, {
    signal: cancellation.signal,
    isFinal: () => hasBegun || steps.records.every(isUntouched),
  });
  return result ?? endedFor(cancellation, context);
}

/** Whether a step has never run. */
const isUntouched = ({ state, startedAt, reason }: StepRecord) =>
  state === "pending" && startedAt === undefined && reason === "";

/** The deliveries whose events ended waits of the task: its steps may read them. */
function waitedFor({ plan, steps: { records } }: TaskContext): readonly string[] {
  return plan.steps.flatMap(({ waitFor }, position) =>
    waitFor === undefined ? [] : records[position]?.outputs?.["delivery_id"] ?? []
  );
}

async function attemptOnce(
  positioned: PositionedStep,
  attempt: Attempt,
): Promise<AttemptResult> {
  const { host: { tokens }, claimed: { task } } = attempt.context;
  const { id: taskId, project, deliveryId } = task;
  const stepId = positioned.step.id;
  // What is left of the attempt after its end has no rights any more.
  using grant = tokens.issue({
    kind: "step",
    project,
    taskId,
    deliveryId,
    waitedFor: waitedFor(attempt.context),
    stepId,
    ...controlOf(positioned.step) === "task" ? { ownOnly: true } : {},
  });
  const prepared = await prepareAttempt(positioned, { ...attempt, token: grant.token }).catch(
    refusal,
  );
  if (prepared instanceof AppError) {
    return { state: "failed", reason: prepared.message, isHopeless: true };
  }
  const { sandbox, note } = prepared;
  let result: AttemptResult | AppError;
  let left: readonly LimitName[] | AppError = [];
  try {
    if (note !== undefined) await attempt.log.note(note);
    result = await runProcess(positioned, attempt, prepared).catch((error) => {
      attempt.reading.takeBack(); // nobody knows what it has read
      return refusal(error);
    });
  } finally {
    if (sandbox !== undefined) left = await sandbox.close().catch(refusal);
  }
  if (result instanceof AppError) return { state: "failed", reason: result.message, usage: {} };
  const network = sandbox?.network;
  return {
    ...withEnd(result, left),
    ...defined({
      network,
      outputs: withTokens(result.outputs, positioned.step.agent, network),
      usage: result.usage && usedBy(result.usage, network),
    }),
  };
}

/** The result of an attempt, with what the end of its sandbox told. */
function withEnd(result: AttemptResult, left: readonly LimitName[] | AppError): AttemptResult {
  if (left instanceof AppError) {
    return result.state === "succeeded"
      ? { ...result, state: "failed", reason: left.message }
      : result;
  }
  if (left.length === 0 || result.state !== "failed") return result;
  return { ...result, reason: `${result.reason}, at its limit of ${left.join(" and ")}` };
}

async function runProcess(
  positioned: PositionedStep,
  { context, cancellation, log, reading, onStart, onNotStarted, work }: Attempt,
  { command, output, sandbox }: PreparedAttempt,
): Promise<AttemptResult> {
  const { host, plan, activity, leftovers, claimed: { task } } = context;
  if (host.lease.isOver() || cancellation.why !== undefined) return endedFor(cancellation, context);
  const isFinally = positioned.isFinally === true;
  const limit = limitOf(positioned.step, { isFinally, plan, limits: host.timeLimits });
  const timeoutSecs = limit === undefined ? undefined : findDurationSecs(limit.time);
  const limitMs = timeoutSecs === undefined ? undefined : timeoutSecs * 1000;
  const captured = new CapturedOutput(positioned.step.stdout);
  const said = new AgentOutput(positioned.step.agent, log, host.clock);
  const limits = work === undefined ? undefined : sandbox?.limits; // a script may well wait for its API
  using _seen = activity.attempt(limitMs ?? taskLimitMs(plan, host.timeLimits));
  const over = await runShell({
    ...command,
    ...sandbox === undefined ? { pool: `${task.project}/${task.trigger}/${task.workflow}` } : {},
    stopOnError: true,
    umask: host.umask,
    graceMs: GRACE_MS,
    signal: limits === undefined
      ? cancellation.signal
      : AbortSignal.any([cancellation.signal, limits.signal]),
    ...defined({ timeoutMs: limitMs }),
    async onOutput(stream, chunk) {
      activity.seen();
      if (stream === "out") captured.add(chunk);
      else sandbox?.hear(chunk);
      await said.write(stream, chunk);
      await work?.session?.hear(said.sessionId);
    },
    onStart(group) {
      reading.begin();
      onStart(group);
    },
    ...defined({ onNotStarted }),
  }, host).catch((error) => {
    leftovers.arePossible = true;
    throw error;
  });
  const { written } = reading;
  // What was in a sandbox has ended with it.
  if (over.leftNothing !== true && sandbox === undefined) leftovers.arePossible = true;
  await said.end();
  await work?.session?.hear(said.sessionId, { isEnd: true });
  await log.end();
  if (over.endedFor !== undefined) {
    await host.groups.endMarked(ATTEMPT_MARK, command.env[ATTEMPT_MARK] ?? "");
  }
  const outputs = await outputsOf(output, { ...said.outputs, ...captured.outputs }, log);
  const exit = sandbox?.endOf(over) ?? over;
  if (typeof exit === "string") {
    reading.takeBack();
    return { state: "failed", reason: exit, exitCode: over.code };
  }
  const isCut = cancellation.why !== undefined && exit.endedFor === "signal" ||
    isCutOff(exit, host, cancellation);
  const verdict: AttemptResult = isCut
    ? endedFor(cancellation, context)
    : atLimit(said.judge(judgeExit(exit, limit), exit.code), limits, host.clock.now());
  const result = verdict.state === "succeeded" ? captured.excess ?? verdict : verdict;
  const hasRead = hasReadAll({
    ...verdict,
    exitCode: exit.code,
    hasAnswered: said.hasAnswered === true,
  });
  reading.end(positioned.step, { hasRead, written });
  return {
    ...result,
    exitCode: exit.code,
    ...work === undefined ? {} : {
      hasWorked: said.hasAnswered ?? true,
      usage: said.usage,
      hasLostSession: work.session?.isResumed === true && result.state === "failed" &&
        exit.endedFor === undefined && said.hasLostSession(exit.code),
    },
    ...defined({ outputs, session: work?.session?.id }),
  };
}

/**
 * How an attempt ended, with what the API of its agent said. A limit counts for the Agent, and so for
 * every task that wants it, only where svc has seen it; if it sees nothing, the agent's word counts for a
 * while, for a stranger may have put it into its mouth.
 */
function atLimit(
  { resetsAt: told, ...end }: ProcessEnd,
  limits: CommandSandbox["limits"],
  now: number,
): AttemptResult {
  if (end.state === "succeeded") return end;
  if (end.failure === "limit") {
    if (limits === undefined) {
      return { ...end, limit: defined({ resetsAt: told && Math.min(told, now + MAX_TOLD_MS) }) };
    }
    return {
      ...end,
      ...defined({ limit: limits.seen && defined({ resetsAt: limits.seen.resetsAt }) }),
    };
  }
  const last = limits?.limit;
  if (last === undefined || end.failure === "auth" || end.failure === "budget") return end;
  return {
    state: "failed",
    reason: `the agent reached its limit: ${last.origin} answered ${last.status} (${end.reason})`,
    failure: "limit",
    limit: defined({ resetsAt: last.resetsAt }),
  };
}

/**
 * Whether a process was ended from outside because the daemon stops, or may not run it any more: a
 * service manager or the guard may end it before the daemon does.
 */
function isCutOff(
  { code, killedBy }: ShellExit,
  { lease }: Pick<RunHost, "lease">,
  { why }: CancellationScope,
): boolean {
  return lease.isOver() ? code !== 0 : why === "stop" && killedBy !== undefined;
}

/** State of a step whose attempt ended early, or did not start, because its task ends. */
function endedFor(
  { why }: CancellationScope,
  { plan, host: { timeLimits } }: Pick<TaskContext, "plan" | "host">,
): AttemptResult {
  switch (why) {
    case "cancel":
      return { state: "cancelled", reason: "cancelled" };
    case "timeout":
      return { state: "failed", reason: timedOutWithTask(plan, timeLimits), failure: "timeout" };
    default:
      return { state: "pending", reason: "" };
  }
}

/** How a process ended; `limit` is the time limit that it had. */
export function judgeExit(
  exit: ShellExit,
  limit: Pick<StepLimit, "time" | "whose"> | undefined,
): ProcessEnd {
  if (exit.endedFor === "timeout" && limit !== undefined) {
    const reason = `timed out after ${timeText(limit.time)}, ${limit.whose}`;
    return { state: "failed", reason, failure: "timeout" };
  }
  if (exit.endedFor === "signal") {
    return { state: "failed", reason: "stopped after a minute at the limit of its API" };
  }
  if (exit.killedBy !== undefined) return { state: "failed", reason: `killed by ${exit.killedBy}` };
  if (exit.code === 0) return { state: "succeeded", reason: "" };
  return { state: "failed", reason: `exit code ${exit.code}${HINTS[exit.code] ?? ""}` };
}

/** Explanations of the exit codes that come from the shell itself. */
const HINTS: Readonly<Record<number, string>> = {
  126: " (the command cannot be run)",
  127: " (command not found)",
};

/** The outputs of the step: those in its file at `path` take precedence over the `printed` ones. */
async function outputsOf(
  path: string,
  printed: Readonly<Record<string, string>>,
  log: StepLog,
): Promise<Record<string, string> | undefined> {
  const { outputs: fromFile, problems } = await readOutputs(path);
  const outputs = { ...printed, ...fromFile };
  for (const problem of problems) await log.note(problem);
  return Object.keys(outputs).length === 0 ? undefined : outputs;
}
