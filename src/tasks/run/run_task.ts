/**
 * Runs one claimed task: prepares what its steps need, runs them in the order of their needs and
 * then those under `finally`, and returns how the task ended; the worker stores that.
 *
 * @module
 */

import { join } from "node:path";
import { AppError } from "../../base/errors.ts";
import type { ClaimedTask } from "../../store/task_records.ts";
import { CancellationScope } from "../cancellation_scope.ts";
import { Activity } from "./activity.ts";
import { checkSender, hasBegun } from "./check_sender.ts";
import { findNeverRan, isOver, taskVerdict } from "./flow.ts";
import { planHere } from "../plan.ts";
import { noteMove } from "./note_move.ts";
import { removeOwnDirectory } from "./own_directory.ts";
import { prepareFinally, prepareTask } from "./prepare_task.ts";
import { runFinally, runFlow, skipForever, skipForTime } from "./run_flow.ts";
import { StepRecorder } from "./step_recorder.ts";
import { TASK_MARK, TASK_RUN_MARK } from "../step/step_env.ts";
import { TaskFiles } from "../step/task_files.ts";
import { taskLimitMs } from "../time_limits.ts";
import { TaskLog } from "../log/task_log.ts";
import {
  retryingEvaluator,
  type RunHost,
  type RunSignals,
  type TaskContext,
  type TaskRun,
} from "./task_context.ts";
import type { TaskResult } from "./task_result.ts";
import { taskScopes } from "./task_scope.ts";

/** After a task that took longer than this, every process of the machine is checked for its mark. */
const LONG_MS = 1000;

/** Result of a task that is to go on later, maybe elsewhere. */
export const INTERRUPTED: TaskResult = { state: "interrupted", reason: "" };

/**
 * Runs a task to its end, or until the daemon stops. Throws only for bugs, and when the store
 * fails. A step that has ended has ended, whether or not the run may go on: what of it the store has
 * not taken comes with the result.
 */
export async function runTask(
  claimed: ClaimedTask,
  host: RunHost,
  signals: RunSignals,
): Promise<TaskResult> {
  await using steps = new StepRecorder(claimed.task, host, signals.stop);
  const result = await runRecorded(claimed, { host, signals, steps });
  return {
    ...result,
    reason: host.secrets.redact(result.reason),
    steps: await steps.takeUnsaved(),
  };
}

async function runRecorded(
  claimed: ClaimedTask,
  { host, signals: { activity = new Activity(host.clock), ...signals }, steps }: {
    readonly host: RunHost;
    readonly signals: RunSignals;
    readonly steps: StepRecorder;
  },
): Promise<TaskResult> {
  const plan = planHere(claimed.plan, host.resolvePath);
  const { id: taskId, project, deliveryId } = claimed.task;
  const mark = `${taskId}.${crypto.randomUUID()}`;
  using _guarded = await beGuarded(mark, host);
  if (host.lease.isOver()) return INTERRUPTED; // the guard ends what is started now
  await using files = await TaskFiles.open(join(host.dirs.run, taskId));
  using _known = host.secrets.runBegins();
  using grant = host.tokens.issue({ kind: "step", project, taskId, deliveryId });
  const { clock, secrets, events } = host;
  const written = { taskId };
  const onWritten = () => events.publish("logWritten", written);
  const { stop } = signals;
  await noteMove(claimed, host, stop);
  await using log = new TaskLog(host.logs.of(taskId), { clock, secrets, onWritten, stop });
  const run: TaskRun = {
    claimed,
    plan,
    host,
    log,
    files,
    mark,
    token: grant.token,
    steps,
    evaluator: retryingEvaluator(host, stop),
    scopeFor: taskScopes(claimed, steps),
    signals,
    activity,
  };
  return await runAndCleanUp(run);
}

/** Has the processes of a run ended should this daemon not be able to, until it is disposed. */
async function beGuarded(run: string, { guard }: RunHost): Promise<DisposableStack> {
  const guarded = new DisposableStack();
  if (guard === undefined) return guarded;
  const mark = `${TASK_RUN_MARK}=${run}`;
  await guard.watch(mark);
  guarded.defer(() => guard.release(mark));
  return guarded;
}

/** Prepares a task, runs its steps, and leaves neither processes nor an open inbox behind. */
async function runAndCleanUp(run: TaskRun): Promise<TaskResult> {
  const { host, claimed: { task }, plan, steps, signals } = run;
  const since = host.clock.now();
  using cancellation = new CancellationScope(signals);
  const limitMs = taskLimitMs(plan, host.timeLimits);
  if (limitMs !== undefined) cancellation.endAfter(limitMs, host.clock);
  try {
    const refusal = await checkSender(run);
    if (refusal !== undefined) return refusal;
    if (!hasBegun(task)) host.events.publish("taskStarted", task);
    // A task that was interrupted at its very end has nothing left to run.
    const context = steps.records.every(isOver) ? undefined : await contextOf(run, cancellation);
    const isDone = context === undefined || await runAllSteps(context, cancellation);
    if (!isDone) return INTERRUPTED;
    const { state, reason } = taskVerdict(plan, steps.records);
    if (state !== "succeeded") return { state, reason };
    const directory = context?.directory ?? task.directory;
    return { state, reason: await removeOwnDirectory(directory, run, since) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (signals.stop.aborted) return INTERRUPTED;
    if (error.code !== "invalid") throw error;
    if (signals.cancel.aborted) return { state: "cancelled", reason: "" };
    return { state: "failed", reason: error.message };
  } finally {
    await endLeftProcesses(run, since);
    await host.inboxes.close(task.id);
  }
}

/**
 * What the steps need. Of a task that cannot have it, its steps are skipped for good, and this is
 * what those under `finally` need.
 */
async function contextOf(run: TaskRun, cancellation: CancellationScope): Promise<TaskContext> {
  const { plan, steps, signals } = run;
  const mainSteps = steps.records.slice(0, plan.steps.length);
  try {
    const why = findNeverRan(mainSteps) ?? plan.missing;
    if (why !== undefined) throw new AppError("invalid", why);
    return await prepareTask(run, cancellation);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "invalid") throw error;
    const isLost = mainSteps.every(isOver) && findNeverRan(mainSteps) === undefined;
    const hasFinally = (plan.finally ?? []).length > 0;
    if (isLost || !hasFinally || signals.stop.aborted) throw error;
    if (!signals.cancel.aborted) skipForever(run, error.message);
    return await prepareFinally(run);
  }
}

/** Runs the steps and then those under `finally`; `false` when the daemon goes down meanwhile. */
async function runAllSteps(
  context: TaskContext,
  cancellation: CancellationScope,
): Promise<boolean> {
  const { plan, steps, signals } = context;
  await runFlow(context, cancellation);
  if (cancellation.why === "timeout") skipForTime(context);
  const ended = steps.records.slice(0, plan.steps.length);
  if (signals.stop.aborted && !ended.every(isOver)) return false;
  const { state, reason } = taskVerdict({ steps: plan.steps }, ended);
  const facts = {
    state,
    reason: state === "cancelled" ? cancelReasonOf(context) : reason,
    goal: context.goal,
    neverRan: context.neverRan,
  };
  return await runFinally({ ...context, scope: context.scopeFor(facts) });
}

/** Why a task is cancelled; empty when nobody has said it. */
function cancelReasonOf({ claimed, signals }: TaskRun): string {
  const { reason } = signals.cancel;
  return typeof reason === "string" ? reason : claimed.task.cancelReason;
}

/**
 * Ends what has left its group: at its end nothing of a task runs. When it is let go of, another
 * daemon may have begun it, on this machine, too: then only what this run has started.
 */
async function endLeftProcesses(run: TaskRun, since: number): Promise<void> {
  const { claimed: { task }, plan: { workspace }, host, steps, signals, mark } = run;
  const { groups, clock } = host;
  const began = steps.records.map(({ startedAt }) => startedAt ?? Infinity);
  // Filters and the like of the repository run while a worktree is made.
  if ((workspace.isolation ?? "shared") !== "shared") began.push(since);
  if (began.every((at) => at === Infinity)) return;
  if (host.guard !== undefined && signals.stop.aborted) {
    return await groups.endMarked(TASK_RUN_MARK, mark);
  }
  if (clock.now() - Math.min(...began) < LONG_MS) await groups.endOrphans(TASK_MARK, task.id);
  else await groups.endMarked(TASK_MARK, task.id);
}
