/**
 * Holds the state of each step of one running task, and is the only code that stores it.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { retryWhileOverloaded } from "../../base/retry_while_overloaded.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { TaskRecorder } from "../../store/task_store.ts";
import type { StepRecord, Task } from "../../store/task_records.ts";
import { isOver } from "./flow.ts";
import type { InboxReading } from "./inbox_reading.ts";

/**
 * Delay before the record of a started step is stored. Most steps of a busy daemon have ended by
 * then, and commits of started steps were a quarter of all commits. The end of a step that was that
 * quick is delayed, too: mostly the task ends meanwhile, and both are stored in one commit.
 */
const DELAY_MS = 50;

/** Reason of a pending step whose attempt was cut off when the daemon ended: the step runs again. */
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
  readonly #save: (record: StepRecord) => Promise<void>;
  readonly #saveRound: (records: readonly StepRecord[]) => Promise<void>;
  readonly #inbox: Pick<InboxReading, "asItIsNow">;
  readonly #clock: Clock;
  readonly #secrets: KnownSecrets;
  readonly #stop: AbortSignal;
  /** By position: the records of running steps, and of quick steps that have ended. */
  readonly #delayed = new Map<number, Delayed>();
  /** The records that the store has not taken yet, by position. */
  readonly #unsaved = new Map<number, StepRecord>();
  /** All writes; rejects with the first that failed. */
  #storing: Promise<unknown> = Promise.resolve();
  /** All writes; resolves when the last has ended, also where one failed. */
  #over: Promise<unknown> = Promise.resolve();

  /**
   * Starts with the states at the time of the claim. Hides `secrets` in the records. `stop` ends
   * retries against an overloaded store.
   */
  constructor(
    task: Pick<Task, "id" | "steps">,
    { store, clock, secrets, inbox }: {
      readonly store: Pick<TaskRecorder, "saveStep" | "beginRound">;
      readonly clock: Clock;
      readonly secrets: KnownSecrets;
      readonly inbox: Pick<InboxReading, "asItIsNow">;
    },
    stop: AbortSignal,
  ) {
    this.#inbox = inbox;
    this.#save = (record) => store.saveStep(task.id, inbox.asItIsNow(record));
    this.#saveRound = (records) => store.beginRound(task.id, records);
    this.#clock = clock;
    this.#secrets = secrets;
    this.#stop = stop;
    this.records = task.steps.map(asNotRunning);
  }

  /** The round in which a step is, from 1; 1 of one outside of a `repeat`. */
  roundOf(position: number): number {
    return this.records[position]?.round ?? 1;
  }

  /**
   * Replaces the record of a step; it is stored when {@linkcode flush} has resolved. Secrets in the
   * values of the step are hidden from here on, in the record and for later steps. The step stays in its
   * round.
   */
  record(unredacted: StepRecord): void {
    const record = this.#inRound(this.#redacted(unredacted));
    if (isQuick(record)) return this.#delay(record, () => this.#store(record));
    this.records[record.position] = record;
    this.#dropDelayed(record.position);
    this.#store(record);
  }

  /**
   * Records that a step runs. This record is not stored if the step ends soon, and a failure to store
   * it is ignored.
   */
  recordStarted(started: StepRecord): void {
    const record = this.#inRound(started);
    this.#delay(record, () => void this.#save(record).catch(() => {}));
  }

  /**
   * Replaces the records of a `repeat` and its steps by those of its next round; resolves when all of them
   * are stored, at once.
   *
   * @throws {AppError} when the store cannot take them.
   */
  async beginRound(records: readonly StepRecord[]): Promise<void> {
    await this.flush();
    await retryWhileOverloaded(
      () => this.#saveRound(records),
      { clock: this.#clock, signal: this.#stop },
    );
    for (const record of records) this.records[record.position] = record;
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
   * Waits for the writes that are under way, and returns the records that are not stored then: the
   * ends of quick steps, and records that an overloaded store did not take before `stop` aborted. The
   * caller has to store them.
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
    return [...this.#unsaved.values()].map((record) => this.#inbox.asItIsNow(record));
  }

  /** The ends of quick steps whose delay is not over, which the caller has to store. */
  #takeQuick(): readonly StepRecord[] {
    const ends = [...this.#delayed.values()].map(({ record }) => record).filter(isOver);
    for (const { position } of ends) this.#dropDelayed(position);
    return ends;
  }

  /**
   * A record in the round of the one that it replaces. A step of a `repeat` has the outputs of the round
   * before until it has ended.
   */
  #inRound(record: StepRecord): StepRecord {
    const { round, outputs } = this.records[record.position] ?? {};
    if (round === undefined) return record;
    return { round, ...isOver(record) ? {} : defined({ outputs }), ...record };
  }

  #redacted(record: StepRecord): StepRecord {
    const { reason, outputs } = record;
    if (reason === "" && outputs === undefined) return record;
    return {
      ...record,
      reason: this.#secrets.redact(reason),
      ...defined({ outputs: outputs && this.#secrets.redactAll(outputs) }),
    };
  }

  #store(record: StepRecord): void {
    const { position } = record;
    this.#unsaved.set(position, record);
    const saving = retryWhileOverloaded(
      () => this.#save(record),
      { clock: this.#clock, signal: this.#stop },
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
    const timer = this.#clock.after(DELAY_MS, () => {
      this.#delayed.delete(position);
      store();
    });
    this.#delayed.set(position, { record, timer });
  }

  #dropDelayed(position: number): void {
    this.#delayed.get(position)?.timer[Symbol.dispose]();
    this.#delayed.delete(position);
  }

  /** Stores the ends of quick steps, if the store takes them; records of started steps are dropped. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const record of this.#takeQuick()) this.#store(record);
    for (const position of this.#delayed.keys()) this.#dropDelayed(position);
    await this.#over;
  }
}

/** Whether a step ended before the delay of its start was over. */
function isQuick({ startedAt = -Infinity, finishedAt = Infinity }: StepRecord): boolean {
  return finishedAt - startedAt < DELAY_MS;
}

/** A step that ran when the daemon last ended starts again, with the same attempt number. */
function asNotRunning(record: StepRecord): StepRecord {
  if (record.state !== "running") return record;
  const { position, id, attempt, round, readFrom } = record;
  return {
    position,
    id,
    state: "pending",
    reason: INTERRUPTED,
    ...defined({
      attempt,
      round,
      readFrom,
      outputs: round === undefined ? undefined : record.outputs,
    }),
  };
}
