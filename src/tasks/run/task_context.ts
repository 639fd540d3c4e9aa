/**
 * State that the steps of one running task share: their directory, their variables, and their
 * records.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { DataDir } from "../../base/data_dir.ts";
import type { HealthConditions } from "../../base/health_conditions.ts";
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
import type { TaskRecorder } from "../../store/task_store.ts";
import type { ClaimedTask } from "../../store/task_records.ts";
import type { Inboxes } from "../step/inbox.ts";
import type { ResolvePath } from "../../base/user_paths.ts";
import { retryWhileOverloaded } from "../../base/retry_while_overloaded.ts";
import type { Plan } from "../plan.ts";
import type { SenderCheck } from "../sender_check.ts";
import type { InheritedEnv } from "../step/step_env.ts";
import type { DefaultLimits } from "../time_limits.ts";
import type { TaskDirectories } from "../workspace/task_directory.ts";
import type { TaskFiles } from "../step/task_files.ts";
import type { TaskLog } from "../log/task_log.ts";
import type { Activity } from "./activity.ts";
import type { StepRecorder } from "./step_recorder.ts";
import type { ScopeFacts } from "./task_scope.ts";

/** What running a task needs. */
export interface RunHost {
  /** Stores the records of steps. */
  readonly store: TaskRecorder;
  /** Holds the secrets for steps. */
  readonly catalog: Catalog;
  /** Hides them in the output of steps. */
  readonly secrets: KnownSecrets;
  /** Evaluates templates. */
  readonly evaluator: Evaluator;
  /** Ends leftover processes of steps. */
  readonly groups: ProcessGroups;
  /** Under which the tasks run. */
  readonly lease: Lease;
  /** Ends their processes when the daemon cannot; absent where no other one would begin them. */
  readonly guard?: Pick<Guard, "watch" | "release">;
  readonly clock: Clock;
  /** Where it is shown that tasks wait for something that the machine is short of. */
  readonly health: HealthConditions;
  /** Takes the output of steps. */
  readonly logs: LogStore;
  /** Files of running tasks are there. */
  readonly dirs: DataDir;
  /** Makes the run tokens of the steps. */
  readonly tokens: RunTokens;
  /** Variables that steps inherit. */
  readonly inherited: InheritedEnv;
  /** How long tasks and steps may take that say nothing of it. */
  readonly timeLimits: DefaultLimits;
  /** File mode mask the daemon was started with. */
  readonly umask: number;
  readonly inboxes: Inboxes;
  /** Receives events about tasks and their output. */
  readonly events: Events;
  /** Makes and removes the worktrees and copies of tasks. */
  readonly directories: TaskDirectories;
  /** Makes the paths of manifests absolute. */
  readonly resolvePath: ResolvePath;
  /** Knows whose events may start a task. */
  readonly senders: SenderCheck;
}

/** The goal of a task: its template, and its text. */
export interface Goal {
  readonly template: Template;
  /** With its placeholders filled in. */
  readonly text: string;
}

/** What ends a task before its time, and who sees what it does. */
export interface RunSignals {
  /**
   * Aborts when the daemon goes down, or may not run the task any more: it resumes with its next
   * claim.
   */
  readonly stop: AbortSignal;
  /** Aborts when the task is cancelled: its `finally` steps still run. */
  readonly cancel: AbortSignal;
  /** Told of what the steps do; nobody asks when absent. */
  readonly activity?: Activity;
}

/** A claimed task that is being run. */
export interface TaskRun {
  readonly claimed: ClaimedTask;
  readonly plan: Plan;
  readonly host: RunHost;
  /** Output of its steps. */
  readonly log: TaskLog;
  readonly files: TaskFiles;
  /** Id of this run, which no other run of the task has, here or elsewhere. */
  readonly mark: string;
  /** Run token of its steps. */
  readonly token: string;
  /** How its steps stand. */
  readonly steps: StepRecorder;
  /** Runs expressions; when too many wait already, it tries again until there is room. */
  readonly evaluator: Pick<Evaluator, "evaluate">;
  /** Variables of expressions, for a task in this state. */
  readonly scopeFor: (facts: ScopeFacts) => Scope;
  readonly signals: RunSignals;
  readonly activity: Activity;
}

/** A task whose steps can start; of one that could not run, those under `finally`. */
export interface TaskContext extends TaskRun {
  /** Where the steps run. */
  readonly directory: string;
  /** Whether it could not run: only its `finally` steps do. */
  readonly neverRan: boolean;
  /** Variables that all of its steps have. */
  readonly variables: Readonly<Record<string, string>>;
  /** The goal, where it has one. */
  readonly goal: Goal | undefined;
  /** Variables of expressions; how the steps stand in it is always up to date. */
  readonly scope: Scope;
}

/** The evaluator of a task: an overloaded one delays its steps, and does not fail them. */
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
