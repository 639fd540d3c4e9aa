/**
 * The things that the steps of one running task share: the parts of the daemon, their directory,
 * their variables and their records.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import { AppError } from "../../base/errors.ts";
import type { ForgeName } from "../../base/forge_names.ts";
import type { DataDir } from "../../base/data_dir.ts";
import type { HealthConditions } from "../../base/health_conditions.ts";
import type { RuntimeDirectory } from "../../base/runtime_directory.ts";
import type { RuntimeFiles } from "../../base/runtime_files.ts";
import type { RunTokens } from "../../auth/run_tokens.ts";
import type { Evaluator } from "../../cel/evaluator.ts";
import type { Scope } from "../../cel/expression.ts";
import type { Template } from "../../cel/template.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { Guard } from "../../shell/guard.ts";
import type { ProcessGroups } from "../../shell/process_groups.ts";
import type { Events } from "../../store/events.ts";
import type { Lease } from "../../store/lease.ts";
import type { LogStore } from "../../store/log_store.ts";
import type { ChildStore } from "../../store/child_store.ts";
import type { TaskQueue, TaskRecorder, TaskStore } from "../../store/task_store.ts";
import type { BudgetStore } from "../../store/budget_store.ts";
import type { TurnStore } from "../../store/turn_store.ts";
import type { Parking } from "../../store/turn_records.ts";
import type { WaitStore } from "../../store/wait_store.ts";
import type { ClaimedTask, StepRecord, Task } from "../../store/task_records.ts";
import type { Inboxes } from "../step/inbox.ts";
import type { ResolvePath } from "../../base/user_paths.ts";
import { retryWhileOverloaded } from "../../base/retry_while_overloaded.ts";
import type { Plan } from "../plan.ts";
import type { SenderCheck } from "../sender_check.ts";
import type { InheritedEnv } from "../step/inherited_env.ts";
import type { SessionHomes } from "../sandbox/session_homes.ts";
import type { Sandboxes } from "../sandbox/step_sandbox.ts";
import type { DefaultLimits } from "../time_limits.ts";
import type { TaskDirectories } from "../workspace/task_directory.ts";
import type { TaskLog } from "../log/task_log.ts";
import type { Activity } from "./activity.ts";
import type { InboxReading } from "./inbox_reading.ts";
import type { StepRecorder } from "./step_recorder.ts";
import type { ApprovalTeller } from "./told_approvals.ts";
import type { ScopeFacts } from "./task_scope.ts";
import type { LookBack } from "./waiting.ts";

/** The parts of the daemon that run a task. */
export interface RunHost extends Core {
  readonly store:
    & TaskRecorder
    & Pick<TurnStore, "takeTurn" | "endTurn" | "noteLimit" | "saveSession">
    & Pick<BudgetStore, "settleRun">
    & Pick<WaitStore, "openWait" | "endWaits" | "countWaits">
    & Pick<
      ChildStore,
      "startChildren" | "findNextChildren" | "listChildren" | "saveChildOutputs"
    >
    & Pick<TaskQueue, "cancelTask">
    & Pick<TaskStore, "findTasks">;
  /** Holds the secrets that steps refer to. */
  readonly catalog: Catalog;
  /** Hides secrets in the output of steps. */
  readonly secrets: KnownSecrets;
  readonly evaluator: Evaluator;
  /** Ends processes that steps have left behind. */
  readonly groups: ProcessGroups;
  /** The tasks run only while this lease lasts. */
  readonly lease: Lease;
  /**
   * Ends the processes of tasks when the daemon cannot; absent where no other daemon would begin
   * the tasks again.
   */
  readonly guard?: Pick<Guard, "watch" | "release">;
  /** Shows that tasks wait because the machine is short of something. */
  readonly health: HealthConditions;
  /** Holds the output of steps. */
  readonly logs: LogStore;
  readonly dirs: DataDir;
  /** Holds the files of running tasks. */
  readonly runtime: RuntimeDirectory;
  /** Makes the run tokens of steps. */
  readonly tokens: RunTokens;
  readonly inherited: InheritedEnv;
  /** The time limits of tasks and steps whose manifests set none. */
  readonly timeLimits: DefaultLimits;
  /** File mode mask that the daemon was started with. */
  readonly umask: number;
  readonly inboxes: Inboxes;
  readonly events: Events;
  readonly directories: TaskDirectories;
  readonly sandboxes: Sandboxes;
  readonly sessionHomes: SessionHomes;
  readonly resolvePath: ResolvePath;
  readonly senders: SenderCheck;
  readonly eventWaits: LookBack;
  /** The forge whose event a task goes back to; no task does if absent. */
  readonly forgeOf?: (task: Task) => Promise<ForgeName | undefined>;
  /** Tells people of approvals outside of svc; nobody is told if absent. */
  readonly teller?: ApprovalTeller;
  /** Tells people why a task could not be answered; nobody is told if absent. */
  readonly unanswered?: (task: Task, reason: string) => Promise<void>;
}

/** The goal of a task. */
export interface Goal {
  readonly template: Template;
  /** The template with its placeholders filled in. */
  readonly text: string;
}

/** The signals that end a run before its time. */
export interface RunSignals {
  /**
   * Aborts when the daemon goes down, or may not run the task any more: the task resumes with its
   * next claim.
   */
  readonly stop: AbortSignal;
  /** Aborts when the task is cancelled: its `finally` steps still run. */
  readonly cancel: AbortSignal;
}

/** The result of a run; an `interrupted` task goes back to the queue, and a `waiting` one goes on later. */
export interface TaskResult {
  readonly state: "succeeded" | "failed" | "cancelled" | "interrupted" | "waiting";
  /** A sentence for users, without its end; may be empty. */
  readonly reason: string;
  /** Records of steps that have to be stored together with the end of the task. */
  readonly steps?: readonly StepRecord[];
  /** What a `waiting` task waits for. */
  readonly parked?: Pick<Parking, "until" | "waits">;
  /** Whether the files of a `waiting` task are its own. */
  readonly hasOwnFiles?: boolean;
  /** Whether only `finally` steps of a `waiting` task are left. */
  readonly isEnding?: boolean;
  /** The shortage of the machine, if the `interrupted` task should not begin again at once. */
  readonly shortage?: string;
}

/** A claimed task that is being run. */
export interface TaskRun {
  readonly claimed: ClaimedTask;
  readonly plan: Plan;
  readonly host: RunHost;
  /** Takes the output of the steps. */
  readonly log: TaskLog;
  readonly files: RuntimeFiles;
  /** Id of this run: no other run of the task has it, on this machine or another. */
  readonly mark: string;
  readonly steps: StepRecorder;
  /** Which messages its steps are given. */
  readonly inbox: InboxReading;
  readonly evaluator: Evaluator;
  /** The variables of expressions, for a task in this state. */
  readonly scopeFor: (facts: ScopeFacts) => Scope;
  readonly signals: RunSignals;
  readonly activity: Activity;
  /** Whether a process of the task may be left outside the groups of its steps. */
  readonly leftovers: { arePossible: boolean };
}

/** A task whose steps can start; if the task could not run, only its steps under `finally`. */
export interface TaskContext extends TaskRun {
  /** The directory in which the steps run. */
  readonly directory: string;
  /** Whether the task could not run: only its `finally` steps do. */
  readonly neverRan: boolean;
  /** Variables that all steps have. */
  readonly variables: Readonly<Record<string, string>>;
  readonly goal: Goal | undefined;
  /** The variables of expressions; the states of steps in it are always up to date. */
  readonly scope: Scope;
}

/**
 * Repeats a write of a run while the store is overloaded, until the daemon stops.
 *
 * @throws Any other error of the store.
 */
export function retryInRun<T>(
  { host: { clock }, signals }: Pick<TaskRun, "host" | "signals">,
  write: () => Promise<T>,
): Promise<T> {
  return retryWhileOverloaded(write, { clock, signal: signals.stop });
}

/** What makes a step fail: something of the workflow or the machine cannot be used. Any other error goes on. */
export function refusal(error: unknown): AppError {
  if (error instanceof AppError && error.code === "invalid") return error;
  throw error;
}

/** The evaluator of a task: it waits while the daemon's evaluator is overloaded, until `signal`. */
export function retryingEvaluator(
  { evaluator, clock }: Pick<RunHost, "evaluator" | "clock">,
  signal: AbortSignal,
): TaskRun["evaluator"] {
  return {
    evaluate: (expression, scope) =>
      retryWhileOverloaded(
        async () => await evaluator.evaluate(expression, scope),
        { clock, signal },
      ),
  };
}
