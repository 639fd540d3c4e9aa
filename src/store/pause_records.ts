/**
 * Records of what keeps workers from taking ready tasks: pauses, and limits of projects.
 *
 * @module
 */

/** While a pause is in force, no worker takes a task of its project. What runs goes on. */
export interface Pause {
  /** Empty for the tasks of every project. */
  readonly project: string;
  /** Why, as a person said it. */
  readonly reason: string;
  /** Who asked for it. */
  readonly by: string;
  /** Milliseconds since the epoch. */
  readonly pausedAt: number;
  /** When it ends by itself, in milliseconds since the epoch; absent if it does not. */
  readonly until?: number;
}

/** A project with a limit of tasks that run at once (`maxParallel`). */
export interface ProjectRoom {
  readonly project: string;
  /** Most tasks of it that run at once. */
  readonly max: number;
  /** Number of its tasks that living nodes run. */
  readonly running: number;
}
