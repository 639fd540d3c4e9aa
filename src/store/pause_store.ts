/**
 * The storage interface for what keeps workers from taking ready tasks: pauses, and full projects.
 *
 * @module
 */

import type { Pause, ProjectRoom } from "./pause_records.ts";

/** What keeps workers from taking tasks. */
export interface PauseStore {
  /**
   * Stores a pause in the place of one of the same project. When it resolves, no daemon takes a task
   * of that project any more.
   */
  pauseTasks(pause: Pause): Promise<void>;
  /** Ends a pause; `undefined` if there was none in force. */
  resumeTasks(project: string, now: number): Promise<Pause | undefined>;
  /** The pauses that are in force, that of every project first, then by project. */
  listPauses(now: number): Promise<Pause[]>;
  /** Number of tasks that living nodes run, of one project or of all if that is empty. */
  countRunning(project: string): Promise<number>;
  /** The projects with a limit of tasks (`maxParallel`), by name, and how much of it is used. */
  listProjectRooms(): Promise<ProjectRoom[]>;
}
