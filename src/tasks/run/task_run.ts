/**
 * What the steps of one running task share: where they run, what they see, how they stand, and the
 * only way in which that is stored.
 *
 * @module
 */

import { after, type Clock } from "../../base/clock.ts";
import type { DataDir } from "../../base/data_dir.ts";
import type { RunTokens } from "../../auth/run_tokens.ts";
import type { Evaluator } from "../../cel/evaluator.ts";
import type { Scope } from "../../cel/expression.ts";
import type { Template } from "../../cel/template.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { ProcessGroups } from "../../shell/process_groups.ts";
import type { TaskRecorder } from "../../store/task_store.ts";
import type { ClaimedTask, StepRecord, TaskState } from "../../store/task_records.ts";
import type { Inboxes } from "../step/inbox.ts";
import { isOver } from "./flow.ts";
import { retryWhileOverloaded } from "../../base/retry_while_overloaded.ts";
import type { Plan } from "../plan.ts";
import type { InheritedEnv } from "../step/step_env.ts";
import type { TaskDirectories } from "../workspace/task_directory.ts";
import type { TaskFiles } from "../step/task_files.ts";
import type { TaskLog } from "../log/task_log.ts";
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
  /** The time. */
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
  /** The task. */
  readonly claimed: ClaimedTask;
  /** What it runs. */
  readonly plan: Plan;
  /** What running needs. */
  readonly host: RunHost;
  /** Output of its steps. */
  readonly log: TaskLog;
  /** Its short-lived files. */
  readonly files: TaskFiles;
  /** Aborts when the daemon goes down. */
  readonly stop: AbortSignal;
}

/**
 * After this long the record of a step says that it runs. Most steps of a busy daemon are over by then,
 * and a commit for each of them was a quarter of all. The end of a step that was over by then waits as
 * long for what comes next: mostly the end of the task, which then shares its commit.
 */
const NOTED_AFTER_MS = 50;

/** What is stored in a moment. */
interface Note {
  readonly record: StepRecord;
  readonly timer: Disposable;
}

/** One task while it runs. */
export class TaskRun implements Disposable {
  /** Its parts. */
  readonly parts: RunParts;
  /** Variables of expressions; always up to date. */
  readonly scope: Scope;
  /** Runs expressions, and waits where too many are being run. */
  readonly evaluator: Pick<Evaluator, "evaluate">;
  /** How each step stands, by its place. */
  readonly records: StepRecord[];
  /** How the task stands: `running`, and what it has come to once its `finally` steps run. */
  state: TaskState = "running";
  /** The goal, where it has one. */
  goal: Goal | undefined;
  /** Where the steps run. */
  directory = "";
  /** Variables that all of its steps have. */
  variables: Readonly<Record<string, string>> = {};
  /** What is to be stored in a moment, by place: of steps that run, and of quick ones that are over. */
  readonly #notes = new Map<number, Note>();
  #saved: Promise<unknown> = Promise.resolve();

  /** Starts where the task stood when it was claimed. */
  constructor(parts: RunParts) {
    this.parts = parts;
    const { claimed, host, stop } = parts;
    this.records = claimed.task.steps.map(asNotRunning);
    this.scope = taskScope(claimed, this);
    this.evaluator = {
      evaluate: (expression, scope) =>
        retryWhileOverloaded(async () => await host.evaluator.evaluate(expression, scope), stop),
    };
  }

  /** The time. */
  now(): number {
    return this.parts.host.clock.now();
  }

  /**
   * Sees to it that it is stored how a step stands; what came before is overwritten. From here on nobody
   * sees a secret in what the step gave, neither who reads the record nor the steps after it.
   */
  save(given: StepRecord): void {
    const record = this.#redacted(given);
    if (isQuick(record)) return this.#note(record, () => this.#store(record));
    this.records[record.position] = record;
    this.#forgetNote(record.position);
    this.#store(record);
  }

  /** Stores how a step stands at the moment, unless that has changed in no time. */
  note(record: StepRecord): void {
    const { claimed, host } = this.parts;
    this.#note(record, () => void host.store.saveStep(claimed.task.id, record).catch(() => {}));
  }

  /** Resolves when everything is stored that was to be {@linkcode save}d. */
  async saved(): Promise<void> {
    for (const record of this.takeUnsaved()) this.#store(record);
    await this.#saved;
  }

  /** What was to be {@linkcode save}d and is not on its way yet: whoever takes it has to store it. */
  takeUnsaved(): readonly StepRecord[] {
    const ends = [...this.#notes.values()].map(({ record }) => record).filter(isOver);
    for (const { position } of ends) this.#forgetNote(position);
    return ends;
  }

  #redacted(record: StepRecord): StepRecord {
    const { secrets } = this.parts.host;
    const { reason, outputs } = record;
    if (reason === "" && outputs === undefined) return record;
    return {
      ...record,
      reason: secrets.redact(reason),
      ...(outputs === undefined ? {} : { outputs: secrets.redactAll(outputs) }),
    };
  }

  #store(record: StepRecord): void {
    const { claimed, host, stop } = this.parts;
    const saving = retryWhileOverloaded(() => host.store.saveStep(claimed.task.id, record), stop);
    this.#saved = Promise.all([this.#saved, saving]);
    this.#saved.catch(() => {}); // looked at in `saved`
  }

  #note(record: StepRecord, store: () => void): void {
    const { position } = record;
    this.records[position] = record;
    this.#forgetNote(position);
    const timer = after(NOTED_AFTER_MS, () => {
      this.#notes.delete(position);
      store();
    });
    this.#notes.set(position, { record, timer });
  }

  #forgetNote(position: number): void {
    this.#notes.get(position)?.timer[Symbol.dispose]();
    this.#notes.delete(position);
  }

  /** Nothing is noted any more; what has ended is on its way, see {@linkcode saved}. */
  [Symbol.dispose](): void {
    for (const record of this.takeUnsaved()) this.#store(record);
    for (const position of this.#notes.keys()) this.#forgetNote(position);
  }
}

/** Whether a step has come to its end within the time after which it is noted. */
function isQuick({ startedAt = -Infinity, finishedAt = Infinity }: StepRecord): boolean {
  return finishedAt - startedAt < NOTED_AFTER_MS;
}

/** What ran when the daemon last ended starts again, with the try it had come to. */
function asNotRunning(record: StepRecord): StepRecord {
  if (record.state !== "running") return record;
  const { position, id, attempt } = record;
  const tries = attempt === undefined ? {} : { attempt };
  return { position, id, state: "pending", reason: "", ...tries };
}
