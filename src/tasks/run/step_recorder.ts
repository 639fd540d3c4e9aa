/**
 * Holds the state of each step of one running task, and is the only way in which it is stored.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import { retryWhileOverloaded } from "../../base/retry_while_overloaded.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { TaskRecorder } from "../../store/task_store.ts";
import type { StepRecord, Task } from "../../store/task_records.ts";
import { isOver } from "./flow.ts";

/** What recording needs. */
export interface StepRecorderHost {
  readonly store: Pick<TaskRecorder, "saveStep">;
  readonly clock: Clock;
  /** Hides secrets in the records. */
  readonly secrets: KnownSecrets;
}

/**
 * Delay before the record of a started step is stored. Most steps of a busy daemon have ended by
 * then, and a commit for each of them was a quarter of all commits. The end of such a quick step
 * waits as long for the next record: mostly the end of the task, which then shares its commit.
 */
const DELAY_MS = 50;

/** Reason of a pending step in whose attempt the daemon ended: it runs again. */
export const INTERRUPTED = "interrupted";

/** A record to be stored at the end of its delay. */
interface Delayed {
  readonly record: StepRecord;
  readonly timer: Disposable;
}

/** Records the steps of one task. */
export class StepRecorder implements AsyncDisposable {
  /** Record of each step, by position; ahead of the store. */
  readonly records: StepRecord[];
  readonly #taskId: string;
  readonly #host: StepRecorderHost;
  readonly #stop: AbortSignal;
  /** By position: the records of running steps, and of quick steps that have ended. */
  readonly #delayed = new Map<number, Delayed>();
  /** What the store has not taken yet, by position. */
  readonly #unsaved = new Map<number, StepRecord>();
  /** Every write; rejects with the first that failed. */
  #storing: Promise<unknown> = Promise.resolve();
  /** Every write, however it ends. */
  #over: Promise<unknown> = Promise.resolve();

  /**
   * Starts with the states at the time of the claim; `stop` ends retries against an overloaded
   * store.
   */
  constructor(task: Pick<Task, "id" | "steps">, host: StepRecorderHost, stop: AbortSignal) {
    this.#taskId = task.id;
    this.#host = host;
    this.#stop = stop;
    this.records = task.steps.map(asNotRunning);
  }

  /**
   * Replaces the record of a step; it is stored when {@linkcode flush} has resolved. Secrets in the
   * values of the step are hidden from here on, in the record and for later steps.
   */
  record(given: StepRecord): void {
    const record = this.#redacted(given);
    if (isQuick(record)) return this.#delay(record, () => this.#store(record));
    this.records[record.position] = record;
    this.#dropDelayed(record.position);
    this.#store(record);
  }

  /**
   * Records that a step runs. That may never be stored: not when the step ends soon, nor when
   * storing fails.
   */
  recordStarted(record: StepRecord): void {
    const { store } = this.#host;
    this.#delay(record, () => void store.saveStep(this.#taskId, record).catch(() => {}));
  }

  /**
   * Resolves when every record given to {@linkcode record} is stored.
   *
   * @throws {AppError} when the store cannot take it.
   */
  async flush(): Promise<void> {
    for (const record of this.#takeQuick()) this.#store(record);
    await this.#storing;
  }

  /**
   * Waits for what is being stored, and gives what is not stored then: the ends of quick steps, and
   * what an overloaded store did not take before the run was to stop. The caller has to store them.
   *
   * @throws {AppError} when the store refuses one.
   */
  async takeUnsaved(): Promise<readonly StepRecord[]> {
    const quick = this.#takeQuick();
    await this.#over;
    await this.#storing.catch((error) => {
      if (!(error instanceof AppError) || error.code !== "overloaded") throw error;
    });
    for (const record of quick) this.#unsaved.set(record.position, record);
    return [...this.#unsaved.values()];
  }

  /** The ends of quick steps that are not being stored yet. */
  #takeQuick(): readonly StepRecord[] {
    const ends = [...this.#delayed.values()].map(({ record }) => record).filter(isOver);
    for (const { position } of ends) this.#dropDelayed(position);
    return ends;
  }

  #redacted(record: StepRecord): StepRecord {
    const { secrets } = this.#host;
    const { reason, outputs } = record;
    if (reason === "" && outputs === undefined) return record;
    return {
      ...record,
      reason: secrets.redact(reason),
      ...(outputs === undefined ? {} : { outputs: secrets.redactAll(outputs) }),
    };
  }

  #store(record: StepRecord): void {
    const { store, clock } = this.#host;
    const { position } = record;
    this.#unsaved.set(position, record);
    const saving = retryWhileOverloaded(
      () => store.saveStep(this.#taskId, record),
      { clock, signal: this.#stop },
    ).then(() => {
      if (this.#unsaved.get(position) === record) this.#unsaved.delete(position);
    });
    this.#storing = Promise.all([this.#storing, saving]);
    this.#storing.catch(() => {}); // `flush` reports the error
    this.#over = Promise.allSettled([this.#over, saving]);
  }

  #delay(record: StepRecord, store: () => void): void {
    const { position } = record;
    this.records[position] = record;
    this.#dropDelayed(position);
    const timer = this.#host.clock.after(DELAY_MS, () => {
      this.#delayed.delete(position);
      store();
    });
    this.#delayed.set(position, { record, timer });
  }

  #dropDelayed(position: number): void {
    this.#delayed.get(position)?.timer[Symbol.dispose]();
    this.#delayed.delete(position);
  }

  /** Stores the remaining ends, as far as the store takes them; started steps are stored no more. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const record of this.#takeQuick()) this.#store(record);
    for (const position of this.#delayed.keys()) this.#dropDelayed(position);
    await this.#over;
  }
}

/** Whether a step ended before its start was recorded. */
function isQuick({ startedAt = -Infinity, finishedAt = Infinity }: StepRecord): boolean {
  return finishedAt - startedAt < DELAY_MS;
}

/** A step that ran when the daemon last ended starts again, with the same attempt number. */
function asNotRunning(record: StepRecord): StepRecord {
  if (record.state !== "running") return record;
  const { position, id, attempt } = record;
  const attempts = attempt === undefined ? {} : { attempt };
  return { position, id, state: "pending", reason: INTERRUPTED, ...attempts };
}
