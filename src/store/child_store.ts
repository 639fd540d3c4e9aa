/**
 * The storage interface for child tasks.
 *
 * @module
 */

import type {
  AbandonedChildren,
  AskedChildren,
  Child,
  ChildEnd,
  ChildQuery,
  NextChildren,
  StartedChildren,
} from "./child_records.ts";
import type { WaitOutputs } from "./wait_records.ts";

/** Tasks that steps of other tasks have started and wait for. */
export interface ChildStore {
  /**
   * Opens the wait of a step and makes the children that have room, all or nothing. A step that has them,
   * also after a crash, gets those. If no child may be made, its wait is over and says why.
   */
  startChildren(asked: AskedChildren): Promise<StartedChildren>;
  /** The next children of the step that this child belongs to; `undefined` if none may be made. */
  findNextChildren(taskId: string): Promise<NextChildren | undefined>;
  /** The children of a task, or of a step of it, by position, round and item. */
  listChildren(query: ChildQuery): Promise<Child[]>;
  /**
   * Stores the outputs of the workflow of a child that is about to succeed; `false` if those of all items of
   * its step would have more than `MAX_RESULTS` characters.
   */
  saveChildOutputs(taskId: string, outputs: WaitOutputs): Promise<boolean>;
  /**
   * Notes how a child has ended, or that it is gone, and lets the task above go on if that was its last;
   * `undefined` if nothing waits for it, or it has not ended.
   */
  endChild(taskId: string, now: number): Promise<ChildEnd | undefined>;
  /** Ids of children that have ended or are gone, of which the task above was not told. */
  listLostChildren(limit: number): Promise<string[]>;
  /**
   * Children that go on though nobody has asked them to stop, while the task above has ended or is to be
   * stopped, or the time of its step is over.
   */
  listAbandonedChildren(now: number, limit: number): Promise<AbandonedChildren>;
}
