/**
 * Runs one claimed task: makes what its steps need, runs them in the order of their needs and then
 * those under `finally`, and says how the task ended; the worker stores that.
 *
 * @module
 */

import { join } from "node:path";
import { findDurationSecs } from "../../base/duration.ts";
import { AppError } from "../../base/errors.ts";
import { compileTemplate, renderTemplate } from "../../cel/template.ts";
import type { ClaimedTask, StepRecord } from "../../store/task_records.ts";
import { CancellationScope } from "../cancellation_scope.ts";
import { findFailure, isOver } from "./flow.ts";
import { retryWhileOverloaded } from "../../base/retry_while_overloaded.ts";
import type { Plan } from "../plan.ts";
import { runFlow, skipForTime } from "./run_flow.ts";
import { runStep } from "./run_step.ts";
import { fitsVariable, TASK_MARK } from "../step/step_env.ts";
import { isDirectory } from "../workspace/task_directory.ts";
import { TaskFiles } from "../step/task_files.ts";
import { logPath, TaskLog } from "../log/task_log.ts";
import { type RunHost, TaskRun } from "./task_run.ts";

/** What ends a task before its time. */
export interface RunSignals {
  /** Aborts when the daemon goes down: the task goes on with its next start. */
  readonly stop: AbortSignal;
  /** Aborts when the task is cancelled: its `finally` steps still run. */
  readonly cancel: AbortSignal;
}

/** How a run ended; `interrupted` means that the daemon is going down and the task will go on. */
export interface TaskResult {
  readonly state: "succeeded" | "failed" | "cancelled" | "interrupted";
  /** CancelCause; empty when there is nothing to say. */
  readonly reason: string;
  /** Steps whose end has not been stored: it is to be stored with that of the task. */
  readonly steps?: readonly StepRecord[];
}

/** Limit of a `finally` step that has none: whatever happened, the task comes to an end. */
const FINALLY_TIMEOUT_SECS = 300;

/**
 * Removing the directory of a task has this long at least: its `finally` may have taken all there
 * was.
 */
const TIDY_MS = 10_000;

/** A task that took longer than this is worth a look at every process of the machine. */
const LONG_MS = 1000;

const INTERRUPTED: TaskResult = { state: "interrupted", reason: "" };

/**
 * Runs a task to its end, or until the daemon stops. Throws only for bugs and a store that is gone.
 */
export async function runTask(
  claimed: ClaimedTask,
  host: RunHost,
  signals: RunSignals,
): Promise<TaskResult> {
  const plan = JSON.parse(claimed.plan) as Plan;
  const { id: taskId, project, deliveryId } = claimed.task;
  await using last = new AsyncDisposableStack(); // while the store takes the end of the last step
  await using files = await TaskFiles.open(join(host.dirs.run, taskId));
  using _known = host.secrets.runBegins();
  using grant = host.tokens.issue({ kind: "step", project, taskId, deliveryId });
  const { clock, secrets, events } = host;
  const written = { taskId };
  const onWritten = () => events.publish("logWritten", written);
  using log = new TaskLog(logPath(host.dirs.logs, taskId), { clock, secrets, onWritten });
  using run = new TaskRun({ claimed, plan, host, log, files, stop: signals.stop });
  last.defer(() => run.steps.flush());
  const result = await runAndTidy(run, grant.token, signals);
  if (result.state === "interrupted") return result;
  return { ...result, reason: host.secrets.redact(result.reason), steps: run.steps.takePending() };
}

async function runAndTidy(run: TaskRun, token: string, signals: RunSignals): Promise<TaskResult> {
  const { host, claimed } = run.parts;
  const since = run.now();
  using cancellation = new CancellationScope(signals);
  const limitMs = limitOf(run);
  if (limitMs !== undefined) cancellation.endAfter(limitMs, host.clock);
  try {
    const result = await prepareAndRun(run, token, { cancellation, signals });
    return result.state === "succeeded" ? await release(run, since, signals) : result;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (signals.stop.aborted) return INTERRUPTED;
    if (error.code !== "invalid") throw error;
    if (signals.cancel.aborted) return { state: "cancelled", reason: "" };
    return { state: "failed", reason: error.message };
  } finally {
    await endLeft(run, since);
    await host.inboxes.close(claimed.task.id);
  }
}

/** The timeout of a task; none when absent. */
function limitOf({ parts: { plan } }: TaskRun): number | undefined {
  const secs = plan.timeout === undefined ? undefined : findDurationSecs(plan.timeout);
  return secs === undefined ? undefined : secs * 1000;
}

/** Runs what has not run yet; a task that was interrupted at its very end has nothing left. */
async function prepareAndRun(
  run: TaskRun,
  token: string,
  { cancellation, signals }: {
    readonly cancellation: CancellationScope;
    readonly signals: RunSignals;
  },
): Promise<TaskResult> {
  if (!run.records.every(isOver)) {
    const { host, claimed, files } = run.parts;
    const [payload, inbox] = await Promise.all([
      files.make("payload.json", claimed.payload),
      files.make("inbox.jsonl"),
      enterDirectory(run, cancellation),
      files.prepareEmpty(),
    ]);
    await host.inboxes.open(claimed.task.id, inbox, claimed);
    await setGoal(run);
    run.variables = variablesOf(run, { payload, inbox, token });
  }
  await runFlow(run, cancellation);
  if (cancellation.why === "timeout") skipForTime(run);
  return await runLast(run, signals);
}

/** What the steps came to, and then those under `finally`. */
async function runLast(run: TaskRun, signals: RunSignals): Promise<TaskResult> {
  const { plan } = run.parts;
  const [steps, last] = [plan.steps, plan.finally ?? []];
  const ended = () => run.records.slice(0, steps.length);
  if (signals.stop.aborted && !ended().every(isOver)) return INTERRUPTED;
  const failure = findFailure(steps, ended());
  const cancelled = ended().some((one) => one.state === "cancelled" || !isOver(one));
  run.state = cancelled ? "cancelled" : failure === undefined ? "succeeded" : "failed";

  using cancellation = new CancellationScope({ stop: signals.stop });
  for (const [index, step] of last.entries()) {
    const position = steps.length + index;
    const isDone = () => isOver(run.records[position] ?? { state: "pending" });
    if (isDone()) continue;
    await run.steps.flush();
    await runStep({ step, position, defaultTimeoutSecs: FINALLY_TIMEOUT_SECS }, run, cancellation);
    if (!isDone()) return INTERRUPTED;
  }
  if (cancelled) return { state: "cancelled", reason: "" };
  const reason = failure ?? findFailure(last, run.records.slice(steps.length));
  return reason === undefined ? { state: "succeeded", reason: "" } : { state: "failed", reason };
}

/** Ends what has left its group: at its end nothing of a task runs. */
async function endLeft(run: TaskRun, since: number): Promise<void> {
  const { claimed: { task }, plan: { workspace }, host: { groups } } = run.parts;
  const began = run.records.map(({ startedAt }) => startedAt ?? Infinity);
  // Filters and the like of the repository run while a worktree is made.
  if ((workspace.isolation ?? "shared") !== "shared") began.push(since);
  if (began.every((at) => at === Infinity)) return;
  if (run.now() - Math.min(...began) < LONG_MS) await groups.endOrphans(TASK_MARK, task.id);
  else await groups.endMarked(TASK_MARK, task.id);
}

/**
 * Finds or makes the directory in which the steps run, and remembers one that is the task's own.
 */
async function enterDirectory(run: TaskRun, cancellation: CancellationScope): Promise<void> {
  const { claimed: { task }, plan: { workspace }, host, stop } = run.parts;
  if (task.directory !== "" && await isDirectory(task.directory)) {
    run.directory = task.directory;
    return;
  }
  if (task.directory !== "" && run.records.some(({ state }) => state === "succeeded")) {
    const gone = `The directory "${task.directory}", in which finished steps ran, is gone`;
    throw new AppError("invalid", `${gone}: retry the task`);
  }
  const user = { taskId: task.id, workspace: task.workspace, plan: workspace };
  run.directory = await host.directories.make(user, cancellation).catch((error) => {
    if (cancellation.why !== "timeout" || !(error instanceof AppError)) throw error;
    const limit = `the timeout of ${(limitOf(run) ?? 0) / 1000} s`;
    throw new AppError("invalid", `${limit} ran out while its ${whatOf(run)} was made`);
  });
  if (run.directory === workspace.path) return;
  await retryWhileOverloaded(
    () => host.store.setTaskDirectory(task.id, run.directory),
    { clock: host.clock, signal: stop },
  );
}

/** The end of a task that has succeeded: nobody needs its own directory any more. */
async function release(run: TaskRun, since: number, signals: RunSignals): Promise<TaskResult> {
  const { claimed: { task }, plan: { workspace }, host } = run.parts;
  const { stop } = signals;
  const own = run.directory === workspace.path ? "" : run.directory || task.directory;
  if (own === "") return { state: "succeeded", reason: "" };
  // A cancel that came before, while `finally` ran, changes nothing but that nobody waits for long.
  const hurried = signals.cancel.aborted;
  using cancellation = new CancellationScope(hurried ? { stop } : signals);
  const leftMs = hurried ? 0 : since + (limitOf(run) ?? Infinity) - run.now();
  if (leftMs < Infinity) cancellation.endAfter(Math.max(leftMs, TIDY_MS), host.clock);
  const how = { from: workspace.path, signal: cancellation.signal, taskId: task.id };
  const reason = await host.directories.remove(own, how).catch((error) => {
    if (stop.aborted || !(error instanceof AppError)) throw error;
    // It stays on record, and goes with the task.
    return cancellation.why === undefined
      ? error.message
      : `its ${whatOf(run)} was not removed in time`;
  });
  if (!await isDirectory(own)) {
    await retryWhileOverloaded(
      () => host.store.setTaskDirectory(task.id, ""),
      { clock: host.clock, signal: stop },
    );
  }
  return { state: "succeeded", reason };
}

/** What a task has for itself, for people. */
function whatOf({ parts: { plan } }: TaskRun): string {
  return plan.workspace.isolation === "worktree" ? "worktree" : "copy";
}

async function setGoal(run: TaskRun): Promise<void> {
  const { goal } = run.parts.plan;
  if (goal === undefined) return;
  const template = compileTemplate(goal);
  try {
    run.goal = { template, text: await renderTemplate(template, run.scope, run.evaluator) };
  } catch (cause) {
    if (!(cause instanceof AppError) || cause.code !== "invalid") throw cause;
    throw new AppError("invalid", `The goal cannot be filled in: ${cause.message}`, { cause });
  }
}

function variablesOf(
  run: TaskRun,
  { payload, inbox, token }: { payload: string; inbox: string; token: string },
): Record<string, string> {
  const { claimed: { task }, host } = run.parts;
  const goal = run.goal?.text.toWellFormed();
  return {
    [TASK_MARK]: task.id,
    SVC_TRIGGER: task.trigger,
    SVC_PROJECT: task.project,
    SVC_WORKFLOW: task.workflow,
    SVC_WORKSPACE: task.workspace,
    SVC_DELIVERY_ID: task.deliveryId,
    SVC_DATA_DIR: host.dirs.root,
    SVC_PAYLOAD_FILE: payload,
    SVC_INBOX: inbox,
    SVC_RUN_TOKEN: token,
    // What no variable can hold is left out, never cut: a prompt has it whole.
    ...(goal === undefined || !fitsVariable(goal) ? {} : { SVC_GOAL: goal }),
  };
}
