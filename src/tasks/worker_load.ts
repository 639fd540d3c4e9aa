/**
 * The load of a worker, as other parts of the daemon see it.
 *
 * @module
 */

/** The tasks that a worker runs, and how many it could run. */
export interface WorkerLoad {
  /** Most tasks that run at once. */
  readonly workers: number;
  /** The tasks that run, in the order in which this daemon began them. */
  readonly running: readonly RunningTask[];
  /** The shortage of the machine that keeps tasks from beginning; absent without one. */
  readonly shortage?: string;
}

/** A task that this daemon runs. */
export interface RunningTask {
  readonly id: string;
  /** Time at which this daemon has begun or resumed it, in milliseconds since the epoch. */
  readonly since: number;
  /** Time of the last output of the steps that run now; absent while none runs. */
  readonly silentSince?: number;
  /** Longest time limit of the steps that run now; absent if one has no limit. */
  readonly mayTakeMs?: number;
}
