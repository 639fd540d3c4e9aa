/**
 * How the steps of one running task stand, and the only way in which that is stored.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { retryWhileOverloaded } from "../../base/retry_while_overloaded.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { TaskRecorder } from "../../store/task_store.ts";
import type { StepRecord, Task } from "../../store/task_records.ts";
import { isOver } from "./flow.ts";

/** What recording needs. */
export interface StepRecorderHost {
  /** Where records go. */
  readonly store: Pick<TaskRecorder, "saveStep">;
  readonly clock: Clock;
  /** Hides secrets in them. */
  readonly secrets: KnownSecrets;
}

/**
 * After this long the record of a step says that it runs. Most steps of a busy daemon are over by
 * then, and a commit for each of them was a quarter of all. The end of a step that was over by then
 * waits as long for what comes next: mostly the end of the task, which then shares its commit.
 */
const DELAY_MS = 50;

/** A record that is stored when its time has come. */
interface Delayed {
  readonly record: StepRecord;
  readonly timer: Disposable;
}

/** Records the steps of one task. */
export class StepRecorder implements Disposable {
  /** How each step stands, by its position; ahead of the store. */
  readonly records: StepRecord[];
  readonly #taskId: string;
  readonly #host: StepRecorderHost;
  readonly #stop: AbortSignal;
  /** By position: of steps that run, and of quick ones that are over. */
  readonly #delayed = new Map<number, Delayed>();
  /** Everything that is on its way to the store. */
  #storing: Promise<unknown> = Promise.resolve();

  /**
   * Starts where the task stood when it was claimed; gives up a store that is overloaded on `stop`.
   */
  constructor(task: Pick<Task, "id" | "steps">, host: StepRecorderHost, stop: AbortSignal) {
    this.#taskId = task.id;
    this.#host = host;
    this.#stop = stop;
    this.records = task.steps.map(asNotRunning);
  }

  /**
   * Takes down how a step stands, over what was there before; it is stored when {@linkcode flush}
   * has resolved. From here on nobody sees a secret in what the step gave, neither readers of the
   * record nor the steps after it.
   */
  record(given: StepRecord): void {
    const record = this.#redacted(given);
    if (isQuick(record)) return this.#delay(record, () => this.#store(record));
    this.records[record.position] = record;
    this.#dropDelayed(record.position);
    this.#store(record);
  }

  /**
   * Takes down that a step runs. That may never be stored: not when it is over soon, nor when
   * storing fails.
   */
  recordStarted(record: StepRecord): void {
    const { store } = this.#host;
    this.#delay(record, () => void store.saveStep(this.#taskId, record).catch(() => {}));
  }

  /**
   * Resolves when everything is stored that was given to {@linkcode record}, but for what was
   * taken.
   *
   * @throws {AppError} when the store cannot take it.
   */
  async flush(): Promise<void> {
    for (const record of this.takePending()) this.#store(record);
    await this.#storing;
  }

  /**
   * The ends of quick steps that are not on their way to the store; the caller has to store them.
   */
  takePending(): readonly StepRecord[] {
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
    const saving = retryWhileOverloaded(
      () => store.saveStep(this.#taskId, record),
      { clock, signal: this.#stop },
    );
    this.#storing = Promise.all([this.#storing, saving]);
    this.#storing.catch(() => {}); // `flush` gives the error
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

  /**
   * Begins to store what is left of ends, see {@linkcode flush}; that steps run is stored no more.
   */
  [Symbol.dispose](): void {
    for (const record of this.takePending()) this.#store(record);
    for (const position of this.#delayed.keys()) this.#dropDelayed(position);
  }
}

/** Whether a step has come to its end before it was recorded that it runs. */
function isQuick({ startedAt = -Infinity, finishedAt = Infinity }: StepRecord): boolean {
  return finishedAt - startedAt < DELAY_MS;
}

/** What ran when the daemon last ended starts again, with the attempt it had come to. */
function asNotRunning(record: StepRecord): StepRecord {
  if (record.state !== "running") return record;
  const { position, id, attempt } = record;
  const attempts = attempt === undefined ? {} : { attempt };
  return { position, id, state: "pending", reason: "", ...attempts };
}
