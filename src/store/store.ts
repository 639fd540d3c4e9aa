/**
 * What the program asks of storage, in its own words. Every method is one transaction, synced to
 * disk before it resolves. Nothing here knows SQL; `sqlite/` is one implementation.
 *
 * @module
 */

import type { Resource, ResourceKey } from "../resources/resource.ts";

/** A change of one resource. */
export type ResourceChange =
  | { readonly op: "put"; readonly resource: Resource }
  | { readonly op: "delete"; readonly key: ResourceKey };

/** What became of one inbound request. */
export type DeliveryOutcome = "accepted" | "filtered" | "skipped" | "handshake" | "rejected";

/** One inbound request and what became of it. */
export interface Delivery {
  /** Identifier, sorts by time. */
  readonly id: string;
  /** Project of the trigger. */
  readonly project: string;
  /** Name of the trigger. */
  readonly trigger: string;
  /** Name of the source it came through. */
  readonly source: string;
  /** Milliseconds since the epoch when its headers had arrived. */
  readonly receivedAt: number;
  /** What became of it. */
  readonly outcome: DeliveryOutcome;
  /** Why, for the operator; empty when there is nothing to say. */
  readonly reason: string;
  /** Status the sender got. */
  readonly status: number;
  /** Address of the peer, without its port. */
  readonly remote: string;
  /** Which key of the SecretStore matched; empty where none did. */
  readonly secretKey: string;
  /** Task it started; empty where it started none. */
  readonly taskId: string;
  /** Size of the body in bytes. */
  readonly bodyBytes: number;
  /** Milliseconds from arrival to the decision. */
  readonly durationMs: number;
}

/** What is kept of an authenticated request. */
export interface DeliveryContent {
  /** Headers, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The exact bytes that arrived. */
  readonly body: Uint8Array;
}

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
}

/** A delivery with everything that belongs in the same transaction. */
export interface NewDelivery {
  /** The record. */
  readonly delivery: Delivery;
  /** What arrived. */
  readonly content: DeliveryContent;
  /** The task it starts. */
  readonly task?: NewTask;
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

/** Which records a list is to hold. */
export interface ListQuery {
  /** Only of this project; every project when absent. */
  readonly project?: string;
  /** Only of this trigger. */
  readonly trigger?: string;
  /** At most this many, newest first. */
  readonly limit: number;
}

/** How much there is of what changes by itself. */
export interface Counts {
  /** Tasks that wait. */
  readonly pending: number;
  /** Tasks that run. */
  readonly running: number;
}

/** Storage of one data directory. */
export interface Store extends AsyncDisposable {
  /** Settles only when storage can no longer be used at all; the daemon then has to end. */
  readonly failed: Promise<Error>;

  /** Every resource there is. */
  loadResources(): Promise<Resource[]>;
  /** Makes all changes, or none. */
  changeResources(changes: readonly ResourceChange[]): Promise<void>;

  /** Stores a delivery and the task it starts. */
  recordDelivery(delivery: NewDelivery): Promise<void>;
  /** Stores records of refused requests, keeping only the newest `keep` of each trigger. */
  recordRejections(rejections: readonly Delivery[], keep: number): Promise<void>;
  /** Newest first. */
  listDeliveries(query: ListQuery): Promise<Delivery[]>;
  /** Deliveries whose id starts with `prefix`, at most two: enough to tell one from several. */
  findDeliveries(prefix: string): Promise<Delivery[]>;

  /** Newest first. */
  listTasks(query: ListQuery): Promise<Task[]>;
  /** Tasks whose id starts with `prefix`, at most two: enough to tell one from several. */
  findTasks(prefix: string): Promise<Task[]>;
  /** Marks the oldest pending tasks running and hands them over, at most `limit`. */
  claimTasks(limit: number, now: number): Promise<ClaimedTask[]>;
  /** Hands over the tasks that were running when the daemon last ended. */
  claimInterrupted(now: number): Promise<ClaimedTask[]>;
  /** Counts one more restart of each of these tasks. */
  countRestarts(taskIds: readonly string[]): Promise<void>;
  /** Stores how a step stands. */
  saveStep(taskId: string, step: StepRecord): Promise<void>;
  /** Ends a running task; `false` when it had ended already. */
  finishTask(end: TaskEnd): Promise<boolean>;
  /** Puts a running task back in the queue, its finished steps kept. */
  requeueTask(taskId: string): Promise<void>;

  /** Counts for `svc status`. */
  counts(): Promise<Counts>;
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

/** Names of the methods that run in the store's own thread. */
export type StoreMethod = Exclude<keyof Store, "failed" | typeof Symbol.asyncDispose>;
