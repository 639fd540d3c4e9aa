/**
 * What the program asks of storage about tasks: to see them, to run them, and what goes in and out
 * while they run.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type {
  Cancelled,
  Claim,
  ClaimedTask,
  InboxMessage,
  RetryOf,
  StepRecord,
  Task,
  TaskCounts,
  TaskEnd,
  TaskQuery,
} from "./task_records.ts";

/** Tasks as an operator sees them. */
export interface TaskStore {
  /** Newest first. */
  listTasks(query: TaskQuery): Promise<Task[]>;
  /** Tasks whose id starts with `prefix`, at most two: enough to tell one from several. */
  findTasks(prefix: string): Promise<Task[]>;
  /** What a task runs, as it was stored; `undefined` when something was missing for it. */
  findPlan(taskId: string): Promise<string | undefined>;
  /** Stores a task that repeats an ended one, and gives it back. */
  retryTask(retry: RetryOf): Promise<Task>;
}

/** Tasks as a worker sees them: claimed, ended, or put back. */
export interface TaskQueue {
  /**
   * Marks the oldest tasks that are due and have room running and hands them over, at most `limit`.
   */
  claimTasks(limit: number, now: number): Promise<Claim>;
  /**
   * Takes over the tasks that run for a node that is gone; what they left behind is to be ended.
   */
  claimInterrupted(): Promise<ClaimedTask[]>;
  /** Counts one more restart of each of these tasks. */
  countRestarts(taskIds: readonly string[]): Promise<void>;
  /** Puts a running task back in the queue, its finished steps kept. */
  requeueTask(taskId: string): Promise<void>;
  /** Ends a running task; `false` when it had ended already. */
  finishTask(end: TaskEnd): Promise<boolean>;
  /** Ends a pending task, or notes that a running one is to end; `followed` as in a `TaskEnd`. */
  cancelTask(
    taskId: string,
    end: { reason: string; now: number; followed?: boolean },
  ): Promise<Cancelled>;
}

/** What is noted of a task while it runs. */
export interface TaskRecorder {
  /** Stores how a step stands. */
  saveStep(taskId: string, step: StepRecord): Promise<void>;
  /** Notes the directory a task has for itself; empty when it is gone. */
  setTaskDirectory(taskId: string, directory: string): Promise<void>;
}

/** Messages to tasks. */
export interface InboxStore {
  /** Adds a message to the inbox of a task that has not ended; `undefined` when it has. */
  addToInbox(taskId: string, message: JsonObject, now: number): Promise<InboxMessage | undefined>;
  /** The inbox of a task, oldest first. */
  listInbox(taskId: string): Promise<InboxMessage[]>;
}

/** Ends of tasks that triggers follow; each is kept until its triggers have fired. */
export interface TaskEndStore {
  /** Ended tasks that triggers follow and that have not been looked at, oldest first. */
  listTaskEnds(limit: number): Promise<Task[]>;
  /** An ended task has been looked at. */
  forgetTaskEnd(taskId: string): Promise<void>;
}

/** Counts tasks by state, without reading them. */
export interface TaskCounter {
  /** Counts for `svc status`. */
  counts(): Promise<TaskCounts>;
}
