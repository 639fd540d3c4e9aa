/**
 * The storage interfaces for tasks: listing them, running them, and what goes in and out while they
 * run.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { NewMessage } from "./outbox_records.ts";
import type {
  CancelResult,
  Claim,
  ClaimedTask,
  InboxMessage,
  RetryOf,
  StepRecord,
  Task,
  TaskCounts,
  TaskEnd,
  TaskFinish,
  TaskQuery,
} from "./task_records.ts";
import type { Requeue } from "./turn_records.ts";

/** Tasks, as an operator reads them. */
export interface TaskStore {
  /** Newest first. */
  listTasks(query: TaskQuery): Promise<Task[]>;
  /** Tasks whose id starts with `prefix`, at most two: enough to see that a prefix is ambiguous. */
  findTasks(prefix: string): Promise<Task[]>;
  /** The plan of a task as JSON; `undefined` when something it needs was missing. */
  findPlan(taskId: string): Promise<string | undefined>;
  /** Stores a task that retries an ended one, and returns it. */
  retryTask(retry: RetryOf): Promise<Task>;
}

/** Tasks, as a worker claims, ends and requeues them. */
export interface TaskQueue {
  /**
   * Claims the oldest tasks that are ready, at most `limit`: marks them running and returns them. A
   * task that was running on a node that has ended gets one more restart.
   */
  claimTasks(limit: number, now: number): Promise<Claim>;
  /**
   * Takes over the running tasks of a node that has ended, each with one more restart. The caller has
   * to end their leftover processes.
   */
  claimInterrupted(): Promise<ClaimedTask[]>;
  /**
   * Puts a running task back in the queue; its finished steps are kept, and these records of steps
   * stored.
   */
  requeueTask(taskId: string, requeue: Requeue): Promise<void>;
  /** Ends a running task. */
  finishTask(end: TaskEnd): Promise<TaskFinish>;
  /**
   * Ends a pending task, or marks a started one to be stopped, and ends its waits; `followed` as in a
   * `TaskEnd`.
   */
  cancelTask(
    taskId: string,
    end: { reason: string; now: number; followed?: boolean },
  ): Promise<CancelResult>;
}

/** Records the progress of a running task. */
export interface TaskRecorder {
  /** Stores the state of a step. */
  saveStep(taskId: string, step: StepRecord): Promise<void>;
  /** Stores the records with which a round of a `repeat` begins, all at once. */
  beginRound(taskId: string, steps: readonly StepRecord[]): Promise<void>;
  /** Records the task's own directory; empty when it has none any more. */
  setTaskDirectory(taskId: string, directory: string): Promise<void>;
}

/** Messages to tasks. */
export interface InboxStore {
  /** Adds a message to the inbox of a task; `undefined` when the task has ended. */
  addToInbox(taskId: string, message: JsonObject, now: number): Promise<InboxMessage | undefined>;
  /** The inbox of a task, oldest first. */
  listInbox(taskId: string): Promise<InboxMessage[]>;
  /** The messages of a task that no step was given, oldest first. */
  listUnread(taskId: string): Promise<InboxMessage[]>;
}

/** Ends of tasks that triggers follow or that get an answer; each is kept until that is done. */
export interface TaskEndStore {
  /** Ended tasks whose triggers have not fired yet, oldest first. */
  listTaskEnds(limit: number): Promise<Task[]>;
  /**
   * Removes the end of a task once its triggers have fired, and stores its answers in the same
   * transaction.
   */
  forgetTaskEnd(
    taskId: string,
    answers: readonly NewMessage[],
    unread?: number,
  ): Promise<void>;
}

/** Counts tasks by state, without reading them. */
export interface TaskCounter {
  counts(): Promise<TaskCounts>;
}
