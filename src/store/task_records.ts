/**
 * Tasks and their steps as storage keeps them.
 *
 * @module
 */

/** States of a task (contract 7); the last three are final. */
export type TaskState = "pending" | "running" | "succeeded" | "failed" | "cancelled";

/** States of a step. */
export type StepState = TaskState | "skipped";

/** A task to be stored. */
export interface NewTask {
  /** Identifier, sorts by time. */
  readonly id: string;
  /** Project it runs in. */
  readonly project: string;
  /** Name of the trigger that made it. */
  readonly trigger: string;
  /** Name of its workflow. */
  readonly workflow: string;
  /** Name of its workspace. */
  readonly workspace: string;
  /** What it will run, as JSON, with its hash; absent when something it needs is missing. */
  readonly plan?: { readonly hash: string; readonly json: string };
  /** Why it cannot run; given exactly when `plan` is absent. The task is stored as failed. */
  readonly missing?: string;
  /** Exact JSON its steps get, where that is not the delivery's body. */
  readonly payload?: Uint8Array;
  /** Names the event among those of its trigger; an earlier one with the same key stops this one. */
  readonly dedupKey?: string;
}

/** One step of a task. */
export interface StepRecord {
  /** Place in the workflow, from 0. */
  readonly position: number;
  /** Id in the workflow. */
  readonly id: string;
  /** Where it stands. */
  readonly state: StepState;
  /** Exit status of its process; 128 + signal number when a signal ended it. */
  readonly exitCode?: number;
  /** Why it ended as it did; empty when there is nothing to say. */
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly startedAt?: number;
  /** Milliseconds since the epoch. */
  readonly finishedAt?: number;
  /** Process group, while it runs and after a crash. */
  readonly processGroup?: number;
}

/** One run of a workflow. */
export interface Task {
  /** Identifier, sorts by time. */
  readonly id: string;
  /** Project it runs in. */
  readonly project: string;
  /** Name of the trigger that made it. */
  readonly trigger: string;
  /** Name of its workflow. */
  readonly workflow: string;
  /** Name of its workspace. */
  readonly workspace: string;
  /** Where it stands. */
  readonly state: TaskState;
  /** Why it ended as it did; empty when there is nothing to say. */
  readonly reason: string;
  /** Delivery that started it; empty when none did. */
  readonly deliveryId: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch. */
  readonly startedAt?: number;
  /** Milliseconds since the epoch. */
  readonly finishedAt?: number;
  /** How often it was interrupted by a crash and went on. */
  readonly restarts: number;
  /** Every step of its workflow, in order; empty when it never had a plan. */
  readonly steps: readonly StepRecord[];
}

/** A task that is to be run now. */
export interface ClaimedTask {
  /** The task, in state running. */
  readonly task: Task;
  /** Its plan, as it was stored. */
  readonly plan: string;
  /** Exact JSON its steps get. */
  readonly payload: Uint8Array;
  /** Headers of its delivery, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** How a task ends. */
export interface TaskEnd {
  /** Which task. */
  readonly taskId: string;
  /** Final state. */
  readonly state: "succeeded" | "failed" | "cancelled";
  /** Why; empty when there is nothing to say. */
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}
