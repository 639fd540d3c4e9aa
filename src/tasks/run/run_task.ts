/**
 * Runs one claimed task: prepares what its steps need, runs them in the order of their needs and
 * then those under `finally`, and returns how the task ended; the worker stores that.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import type { ClaimedTask, StepRecord } from "../../store/task_records.ts";
import { CancellationScope } from "../cancellation_scope.ts";
import { Activity } from "./activity.ts";
import { cancelChildren, storeOutputs } from "./children.ts";
import { checkSender, hasBegun } from "./check_sender.ts";
import { findNeverRan, isOver, taskVerdict } from "./flow.ts";
import { type Plan, planHere } from "../plan.ts";
import { InboxReading } from "./inbox_reading.ts";
import { noteMove, openLog } from "./run_log.ts";
import { removeOwnDirectory } from "./own_directory.ts";
import { prepareFinally, prepareTask } from "./prepare_task.ts";
import { pullReportOf, reportPull } from "./report_pull.ts";
import {
  cancelBegun,
  type Parked,
  runFinally,
  runFlow,
  skipForever,
  skipForTime,
} from "./run_flow.ts";
import { StepRecorder } from "./step_recorder.ts";
import { runsProgram } from "../../resources/step.ts";
import { isShared } from "../../resources/workspace.ts";
import { TASK_MARK, TASK_RUN_MARK } from "../step/inherited_env.ts";
import { taskLimitMs } from "../time_limits.ts";
import {
  retryingEvaluator,
  retryInRun,
  type RunHost,
  type RunSignals,
  type TaskContext,
  type TaskResult,
  type TaskRun,
} from "./task_context.ts";
import { takeBackQuestions } from "./approval_step.ts";
import { taskScopes } from "./task_scope.ts";

/**
 * After a task that took longer than this, all processes of the machine are checked for its mark; after
 * a shorter one, only those whose parent has ended.
 */
const LONG_MS = 1000;

/** Result of a task that is to go on later, maybe elsewhere. */
export const INTERRUPTED: TaskResult = { state: "interrupted", reason: "" };

/**
 * Runs a task to its end, or until the daemon stops. Throws only for bugs, and when the store
 * fails. If the run may not continue, the ends of its steps still count: the result has the records
 * that are not stored yet.
 */
export async function runTask(
  claimed: ClaimedTask,
  host: RunHost,
  signals: RunSignals,
  activity: Activity = new Activity(host.clock),
): Promise<TaskResult> {
  const inbox = new InboxReading(claimed, host.inboxes);
  await using steps = new StepRecorder(claimed.task, { ...host, inbox }, signals.stop);
  const result = await runRecorded({ claimed, host, signals, steps, activity, inbox });
  return {
    ...result,
    reason: host.secrets.redact(result.reason),
    steps: await steps.takeUnsaved(),
  };
}

/** The parts of a run that are there before it is prepared. */
type BareRun = Pick<TaskRun, "claimed" | "host" | "signals" | "steps" | "activity" | "inbox">;

async function runRecorded(bare: BareRun): Promise<TaskResult> {
  const { claimed, host, signals: { stop }, steps } = bare;
  const plan = planHere(claimed.plan, host.resolvePath);
  const { id: taskId } = claimed.task;
  const mark = `${taskId}.${crypto.randomUUID()}`;
  using _guarded = await beGuarded(mark, host);
  if (host.lease.isOver()) return INTERRUPTED; // the guard would end every process at once
  await using files = host.runtime.filesOf(taskId);
  using _known = host.secrets.runBegins();
  await noteMove(claimed, host, stop);
  await using log = openLog(taskId, host, stop);
  return await runAndCleanUp({
    ...bare,
    plan,
    log,
    files,
    mark,
    leftovers: { arePossible: mayHaveLeft(plan, steps.records) },
    evaluator: retryingEvaluator(host, stop),
    scopeFor: taskScopes(claimed, steps),
  });
}

/** Whether processes may run before the first step of this run: those of an earlier run, or of git. */
function mayHaveLeft({ workspace }: Plan, records: readonly StepRecord[]): boolean {
  return !isShared(workspace) ||
    records.some(({ startedAt }) => startedAt !== undefined);
}

/**
 * While the result is not disposed, the guard ends the processes of this run if the daemon dies or
 * hangs.
 */
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
  // Work counts, of earlier runs too, and no waiting.
  if (limitMs !== undefined) {
    cancellation.endAfter(Math.max(0, limitMs - task.activeMs), host.clock);
  }
  try {
    const refusal = await checkSender(run);
    if (refusal !== undefined) return refusal;
    if (!hasBegun(task)) host.events.publish("taskStarted", task);
    // A task that was interrupted at its very end has nothing left to run.
    const context = steps.records.every(isOver) ? undefined : await contextOf(run, cancellation);
    const cut = context === undefined ? undefined : await runAllSteps(context, cancellation);
    if (cut !== undefined) return cut;
    const { state, reason } = taskVerdict(plan, steps.records);
    if (state !== "succeeded") return { state, reason };
    const isChild = task.rootId !== "";
    if (isChild && plan.outputs !== undefined) {
      await storeOutputs(context ?? await prepareTask(run, cancellation));
    }
    const report = isChild ? undefined : await pullReportOf(run);
    if (report !== undefined) {
      const last = context ?? await prepareTask(run, cancellation);
      if (!await reportPull(last, report, cancellation)) return INTERRUPTED;
    }
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
 * Prepares the steps. If that is impossible, the steps are skipped for good, and those under `finally`
 * are prepared.
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

/**
 * Ends the turns and the waits of the steps that will not run any more, those turns that they wait for
 * included: a cancellation or the time of the task came while they waited, or after a crash had cut them
 * off. The steps under `finally` may need the turns, and nobody is to answer the waits.
 */
async function giveUpUnrun(run: TaskRun): Promise<void> {
  const { plan, steps, claimed: { task }, host: { store, clock } } = run;
  const unrun = [...plan.steps.entries()].filter(([position]) => {
    const { state } = steps.records[position] ?? {};
    return state !== "succeeded" && state !== "failed";
  });
  for (const [position, { agent }] of unrun) {
    if (agent === undefined) continue;
    await retryInRun(run, () => store.endTurn(task.id, clock.now(), position));
  }
  if (unrun.every(([, step]) => runsProgram(step))) return;
  await retryInRun(run, () => store.endWaits(task.id, clock.now()));
  if (unrun.every(([, step]) => step.workflow === undefined)) return;
  await retryInRun(run, () => cancelChildren(run));
}

/**
 * Runs the steps and then those under `finally`. Gives the result of a task that goes on later: the daemon
 * goes down, or only waiting steps are left.
 */
async function runAllSteps(
  context: TaskContext,
  cancellation: CancellationScope,
): Promise<TaskResult | undefined> {
  const { plan, steps, signals } = context;
  const parked = await runFlow(context, cancellation);
  if (parked !== undefined && !signals.stop.aborted) return waitingResult(parked, plan);
  if (cancellation.why === "cancel" || cancellation.why === "timeout") {
    await takeBackQuestions(context, "the task was ended before anybody decided");
  }
  if (cancellation.why === "timeout") skipForTime(context);
  if (cancellation.why === "cancel") cancelBegun(context);
  const ended = steps.records.slice(0, plan.steps.length);
  if (signals.stop.aborted && !ended.every(isOver)) return INTERRUPTED;
  const { state, reason } = taskVerdict({ steps: plan.steps }, ended);
  const facts = {
    state,
    reason: state === "cancelled" ? cancelReasonOf(context) : reason,
    goal: context.goal,
    neverRan: context.neverRan,
  };
  await giveUpUnrun(context);
  const done = await runFinally({ ...context, scope: context.scopeFor(facts) });
  if (typeof done === "object") return { ...waitingResult(done, plan), isEnding: true };
  return done ? undefined : INTERRUPTED;
}

const waitingResult = (
  parked: Parked,
  { workspace: { isolation = "shared" } }: Plan,
): TaskResult => ({
  state: "waiting",
  reason: "",
  parked,
  hasOwnFiles: isolation !== "shared",
});

/** Why a task is cancelled; empty when no reason was given. */
function cancelReasonOf({ claimed, signals }: TaskRun): string {
  const { reason } = signals.cancel;
  return typeof reason === "string" ? reason : claimed.task.cancelReason;
}

/**
 * Ends processes that have left their process group, so that no process of a task outlives it. Where
 * this daemon stops and shares its tasks, another daemon of this machine may have begun the task
 * already: then only the processes of this run are ended.
 */
async function endLeftProcesses(run: TaskRun, since: number): Promise<void> {
  const { claimed: { task }, plan: { workspace }, host, steps, signals, mark } = run;
  const { groups, clock } = host;
  if (!run.leftovers.arePossible) return;
  const began = steps.records.map(({ startedAt }) => startedAt ?? Infinity);
  // Making a worktree starts processes, too, such as filters of the repository.
  if (!isShared(workspace)) began.push(since);
  if (began.every((at) => at === Infinity)) return;
  if (host.guard !== undefined && signals.stop.aborted) {
    return await groups.endMarked(TASK_RUN_MARK, mark);
  }
  if (clock.now() - Math.min(...began) < LONG_MS) await groups.endOrphans(TASK_MARK, task.id);
  else await groups.endMarked(TASK_MARK, task.id);
}
