/**
 * How busy a worker is, as others see it.
 *
 * @module
 */

/** How busy a worker is. */
export interface WorkerLoad {
  /** Most tasks that run at once. */
  readonly workers: number;
  /** The tasks that run, in the order in which they began here. */
  readonly running: readonly RunningTask[];
  /** What the machine is short of, so that no task begins; absent where it is short of nothing. */
  readonly shortage?: string;
}

/** A task that runs here. */
export interface RunningTask {
  readonly id: string;
  /** When this daemon has begun it, or gone on with it; milliseconds since the epoch. */
  readonly since: number;
  /** Since when the steps that run now have printed nothing; absent while none runs. */
  readonly silentSince?: number;
  /** Longest time that one of these may take; absent where one has no limit. */
  readonly mayTakeMs?: number;
}
