/**
 * What the steps of one running task share: where they run, what they see, and how they stand.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { DataDir } from "../../base/data_dir.ts";
import type { RunTokens } from "../../auth/run_tokens.ts";
import type { Evaluator } from "../../cel/evaluator.ts";
import type { Scope } from "../../cel/expression.ts";
import type { Template } from "../../cel/template.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { ProcessGroups } from "../../shell/process_groups.ts";
import type { Events } from "../../store/events.ts";
import type { TaskRecorder } from "../../store/task_store.ts";
import type { ClaimedTask, StepRecord, TaskState } from "../../store/task_records.ts";
import type { Inboxes } from "../step/inbox.ts";
import { retryWhileOverloaded } from "../../base/retry_while_overloaded.ts";
import type { Plan } from "../plan.ts";
import type { InheritedEnv } from "../step/step_env.ts";
import type { TaskDirectories } from "../workspace/task_directory.ts";
import type { TaskFiles } from "../step/task_files.ts";
import type { TaskLog } from "../log/task_log.ts";
import { StepRecorder } from "./step_recorder.ts";
import { taskScope } from "./task_scope.ts";

/** What running a task needs. */
export interface RunHost {
  /** Where steps are recorded. */
  readonly store: TaskRecorder;
  /** Holds the secrets that steps are given. */
  readonly catalog: Catalog;
  /** Hides them in what steps say. */
  readonly secrets: KnownSecrets;
  /** Runs templates. */
  readonly evaluator: Evaluator;
  /** Ends what steps leave behind. */
  readonly groups: ProcessGroups;
  readonly clock: Clock;
  /** Where logs and files of running tasks go. */
  readonly dirs: DataDir;
  /** Rights of the steps. */
  readonly tokens: RunTokens;
  /** What steps inherit. */
  readonly inherited: InheritedEnv;
  /** File mode mask the daemon was started with. */
  readonly umask: number;
  /** Messages to tasks. */
  readonly inboxes: Inboxes;
  /** Hear of tasks and of their output. */
  readonly events: Events;
  /** Worktrees and copies of tasks. */
  readonly directories: TaskDirectories;
}

/** The goal of a task: its template, and its text. */
export interface Goal {
  /** As it was written. */
  readonly template: Template;
  /** Filled in. */
  readonly text: string;
}

/** What a run is made of. */
export interface RunParts {
  readonly claimed: ClaimedTask;
  readonly plan: Plan;
  /** What running needs. */
  readonly host: RunHost;
  /** Output of its steps. */
  readonly log: TaskLog;
  readonly files: TaskFiles;
  /** Aborts when the daemon goes down. */
  readonly stop: AbortSignal;
}

/** One task while it runs. */
export class TaskRun implements Disposable {
  readonly parts: RunParts;
  /** Variables of expressions; always up to date. */
  readonly scope: Scope;
  /** Runs expressions, and waits where too many are being run. */
  readonly evaluator: Pick<Evaluator, "evaluate">;
  /** How its steps stand. */
  readonly steps: StepRecorder;
  /** How the task stands: `running`, and what it has come to once its `finally` steps run. */
  state: TaskState = "running";
  /** The goal, where it has one. */
  goal: Goal | undefined;
  /** Where the steps run. */
  directory = "";
  /** Variables that all of its steps have. */
  variables: Readonly<Record<string, string>> = {};

  /** Starts where the task stood when it was claimed. */
  constructor(parts: RunParts) {
    this.parts = parts;
    const { claimed, host, stop } = parts;
    this.steps = new StepRecorder(claimed.task, host, stop);
    this.scope = taskScope(claimed, this);
    this.evaluator = {
      evaluate: (expression, scope) =>
        retryWhileOverloaded(
          async () => await host.evaluator.evaluate(expression, scope),
          { clock: host.clock, signal: stop },
        ),
    };
  }

  /** How each step stands, by its position. */
  get records(): readonly StepRecord[] {
    return this.steps.records;
  }

  now(): number {
    return this.parts.host.clock.now();
  }

  /** Ends the records of its steps. */
  [Symbol.dispose](): void {
    this.steps[Symbol.dispose]();
  }
}
