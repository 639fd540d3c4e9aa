/**
 * Tasks and their steps as storage keeps them.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { ListQuery } from "./list_query.ts";

/** States of a task; the last three are final. */
export const TASK_STATES = ["pending", "running", "succeeded", "failed", "cancelled"] as const;
/** One of {@linkcode TASK_STATES}. */
export type TaskState = typeof TASK_STATES[number];

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
  /**
   * Names the event among those of its trigger; an earlier one with the same key stops this one.
   */
  readonly dedupKey?: string;
  /** Trace its spans belong to, as a W3C `traceparent`. */
  readonly trace?: string;
  /** Task whose end or thread started it. */
  readonly parentId?: string;
  /** How many tasks stand before it in a chain of task triggers; 0 when absent. */
  readonly depth?: number;
  /** Whether triggers follow its workflow, so that ends that come with it have to be looked at. */
  readonly followed?: boolean;
  /** How many of its group may be under way at once, and what happens beyond. */
  readonly concurrency?: TaskConcurrency;
  /** How many tasks may be under way in its workspace at once; any number when absent. */
  readonly workspaceMax?: number;
  /**
   * Tasks of the same key that arrive before it starts become this one, with the newest payload.
   */
  readonly debounce?: { readonly key: string; readonly forMs: number };
  /** How many of its trigger may start within a minute; `reject` refuses what is beyond. */
  readonly rateLimit?: { readonly perMinute: number; readonly reject: boolean };
}

/** How tasks of one trigger and key share (`concurrency`). */
export interface TaskConcurrency {
  /** What happens to a task that finds no room. */
  readonly policy: "Forbid" | "Replace" | "Queue";
  /** Tells groups of one trigger apart. */
  readonly key: string;
  /** Tasks of a group under way at once. */
  readonly max: number;
}

/** A task that runs again what another one did (`svc task retry`). */
export interface RetryOf {
  /** Identifier of the new task. */
  readonly id: string;
  /** The task it repeats; it has ended. */
  readonly of: string;
  /**
   * What it runs, where the old task had no plan; its names may be others than those of the old.
   */
  readonly planned?: {
    readonly workflow: string;
    readonly workspace: string;
    readonly plan: { readonly hash: string; readonly json: string };
    readonly workspaceMax?: number;
  };
  /** Steps that are not run again, as they ended. */
  readonly kept: readonly StepRecord[];
  /** Whether the new task goes on in the directory of the old one. */
  readonly keepDirectory: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Which tasks a list is to hold. */
export interface TaskQuery extends ListQuery {
  /** Only in this state. */
  readonly state?: string;
  /** Only of this workflow. */
  readonly workflow?: string;
  /** Only with an id below this one, to read on. */
  readonly before?: string;
}

/** What became of a request to cancel: it never started, is being ended, or had ended before. */
export type Cancelled = "cancelled" | "stopping" | "ended";

/** A message to a task. */
export interface InboxMessage {
  /** Place in the inbox, from 0. */
  readonly position: number;
  /** One JSON object. */
  readonly message: JsonObject;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
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
  /** Which try this is, from 1; 1 when absent. */
  readonly attempt?: number;
  /** What it wrote to `$SVC_OUTPUT`. */
  readonly outputs?: Readonly<Record<string, string>>;
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
  /** Task whose end or thread started it; empty when none did. */
  readonly parentId: string;
  /** Task it runs again; empty when it is none. */
  readonly retryOf: string;
  /** How many tasks stand before it in a chain of task triggers. */
  readonly depth: number;
  /** Directory its steps ran in, where that is its own and still there; empty otherwise. */
  readonly directory: string;
  /** Why it is to be cancelled; empty when it is not. */
  readonly cancelReason: string;
  /** Every step of its workflow, in order; empty when it never had a plan. */
  readonly steps: readonly StepRecord[];
}

/** What there is to be run now, and when to ask again. */
export interface Claim {
  /** Tasks that are running from now on, oldest first. */
  readonly tasks: readonly ClaimedTask[];
  /**
   * When the next held task is due, in milliseconds since the epoch; absent when none waits for a
   * time.
   */
  readonly nextAt?: number;
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
  /** Whether there is anything in its inbox. */
  readonly hasMessages: boolean;
  /** Trace its spans belong to, as a W3C `traceparent`. */
  readonly trace?: string;
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
  /** Whether triggers follow its workflow, so that its end has to be looked at. */
  readonly followed?: boolean;
  /** Steps that have ended and are stored together with this. */
  readonly steps?: readonly StepRecord[];
}

/** How many tasks wait and run, and since when. */
export interface TaskCounts {
  /** Tasks that wait. */
  readonly pending: number;
  /** Of these, those that wait for their time or for room beside others, not for a worker. */
  readonly held: number;
  /** Tasks that run. */
  readonly running: number;
  /** When the oldest that waits came, in milliseconds since the epoch; absent when none waits. */
  readonly oldestPendingAt?: number;
  /** The same of those that wait for a worker only. */
  readonly oldestReadyAt?: number;
}
