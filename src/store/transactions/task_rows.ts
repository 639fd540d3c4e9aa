/**
 * What the transactions of this folder read and change: with SQLite rows of the file, by statements
 * (`sqlite/tasks/sqlite_task_rows.ts`), with PostgreSQL facts that were loaded before
 * (`postgres/working_set/`). The transactions decide by the rules of `rules/`, and are written
 * once.
 *
 * @module
 */

import type { JsonObject } from "../../base/json.ts";
import type { Cursor, Delivery, KeyedEvent } from "../delivery_records.ts";
import type { ConversationTask } from "../rules/conversation.ts";
import type { DebouncedTask, EarlierEvent, ReplaceableTask } from "../rules/event_outcome.ts";
import type { GroupLimit, TaskLimits } from "../rules/limits.ts";
import type { Found } from "../rules/needs.ts";
import type { RateState } from "../rules/rate_limit.ts";
import type { RetriedTask } from "../rules/retry.ts";
import type { Readiness } from "../rules/readiness.ts";
import type { ParkDecision } from "../rules/parking.ts";
import type { NewTask, RetryOf, TaskEnd, TaskState } from "../task_records.ts";
import type { Parking } from "../turn_records.ts";

/** Identifies a trigger. */
export type TriggerKey = Pick<NewTask, "project" | "trigger">;

/**
 * Names one limit: a concurrency group, or a workspace with a limit. Tasks are queued for room in
 * it.
 */
export type LimitKey =
  | { readonly of: "group"; readonly digest: Uint8Array }
  | { readonly of: "workspace"; readonly project: string; readonly name: string };

/** A pending task that is not ready. */
export interface UnreadyTask {
  readonly id: string;
  readonly limits: TaskLimits;
}

/** A task that may have been due: a delayed one, or one that waits in its midst. */
export interface DueTask extends UnreadyTask {
  readonly state: TaskState;
  readonly readiness: Readiness;
}

/** The fields of a stored task that decide how it is cancelled, ended or retried. */
export interface StoredTask extends RetriedTask {
  /** Whether a worker has ever started it. */
  readonly hasStarted: boolean;
  readonly readiness: Readiness;
}

/** What the end of a task leaves behind. */
export interface EndedTask {
  /** The limits whose room it occupied. */
  readonly limits: TaskLimits;
  /** Whether no step was given the last messages of its inbox. */
  readonly hasUnread: boolean;
}

/** When a new task may run, and what else is stored beside it. */
export interface Scheduling {
  readonly readiness: Readiness;
  /** When the task is due, in milliseconds since the epoch; absent when it is due now. */
  readonly runAt?: number;
  /** Limits that the task counts against. */
  readonly limits: TaskLimits;
  /** Digest of its debounce key. */
  readonly debounce?: Uint8Array;
}

/** What is known of the inbox of a task without its messages. */
export interface InboxFacts {
  /** How many messages it has had, and so the position of the next one. */
  readonly messages: number;
  readonly bytes: number;
  /** Position behind the last message that its steps were given. */
  readonly readUpTo: number;
}

/** Between which tasks messages go over. */
export interface HandedOver {
  readonly from: string;
  /** Position of the message that does not. */
  readonly except: number;
  readonly to: string;
}

/** An event whose key is remembered. */
export interface RememberedEvent {
  readonly deliveryId: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  readonly taskId: string;
  /** Keys from up to this time may be removed. */
  readonly forgetUpTo: number;
}

/** A task that retries another. */
export interface PlannedRetry {
  readonly planHash: string;
  readonly limits: TaskLimits;
  readonly readiness: Readiness;
}

/** Rows of tasks. */
export interface TaskRows {
  findTask(id: string): Found<StoredTask>;
  /** The pending task with the same debounce key that has never started. */
  findDebounced(task: NewTask): Found<DebouncedTask>;
  /** Ids of the unfinished tasks of a group, at most as many as its limit. */
  findUnfinished(group: GroupLimit): readonly string[];
  /** Unfinished tasks of a group that are not being cancelled. */
  findReplaceable(group: GroupLimit): readonly ReplaceableTask[];
  /** The limit of the newest task that is queued. */
  findNewestMax(limit: LimitKey): Found<number>;
  /** Number of tasks that occupy room; need not be counted beyond `upTo`. */
  countOpen(limit: LimitKey, upTo: number): number;
  /** The task with the lowest id of those that are queued. */
  findOldestQueued(limit: LimitKey): Found<UnreadyTask>;

  /** Stores a task that `delivery` starts; a task without a plan has failed from the start. */
  insertTask(
    task: NewTask,
    delivery: Pick<Delivery, "id" | "receivedAt">,
    scheduling: Scheduling,
  ): void;
  /** Stores a task that retries another, with its steps that are kept, and its directory. */
  insertRetry(retry: RetryOf, planned: PlannedRetry): void;
  /** Gives a pending task the payload, the plan and what else a newer event brings. */
  joinTask(task: NewTask, joined: DebouncedTask, delivery: Pick<Delivery, "id">): void;
  /** Gives a pending task other limits, and delays it until its time: it occupies no room. */
  leaveRoom(taskId: string, limits: TaskLimits): void;
  /** Stores whether a pending task is ready. */
  setReadiness(taskId: string, readiness: Readiness): void;
  /** Stores what becomes of a running task that its worker gives back. */
  park(taskId: string, parking: Parking, decision: ParkDecision): void;
  /** Makes a waiting task pending again. */
  wake(taskId: string, readiness: Readiness, now: number): void;
  /** Ends the open waits of a task that ends, or is to be stopped. */
  closeWaits(taskId: string, now: number): void;
  /** Marks a started task to be stopped; the first reason stays. */
  requestCancel(taskId: string, reason: string): void;
  /** Ends a task that is in state `from`, with its steps that still run; none when it was in another. */
  endTask(end: TaskEnd, from: "pending" | "running"): Found<EndedTask>;
  /** Stores that a task has ended and its triggers have to fire. */
  noteTaskEnd(taskId: string): void;
}

/** Rows of tasks, and what else events are judged by. */
export interface EventRows extends TaskRows {
  /** The event with the key of this one, if its task is still stored, or it never had one. */
  findEarlier(event: KeyedEvent): Found<EarlierEvent>;
  /** The newest task of the conversation of this task, if that is still stored. */
  findConversation(task: NewTask): Found<ConversationTask>;
  /** Lets the conversation of this task go on with it. */
  bindConversation(task: NewTask, now: number): void;
  /** Adds a message to the inbox of a task. */
  addMessage(taskId: string, message: JsonObject, now: number): void;
  /**
   * Gives the messages of one task that no step of it was given to a new one, in their order; those of a
   * chat are routed again instead.
   */
  handOver(messages: HandedOver): void;
  findRate(trigger: TriggerKey): Found<RateState>;
  keepRate(trigger: TriggerKey, rate: RateState): void;
  /** Stores the key of an event, if it has one, and removes a few old ones. */
  rememberKey(event: KeyedEvent, as: RememberedEvent): void;
}

/** The content of a request, its headers as JSON. */
export interface OwnContent {
  readonly headers: string;
  readonly body: Uint8Array;
  readonly url: string;
}

/** A delivery without its outcome. */
export type DeliveryFacts = Omit<Delivery, "outcome" | "reason" | "taskId" | "detail">;

/** The outcome of a delivery. */
export interface DeliverySummary extends Pick<Delivery, "outcome" | "reason" | "taskId"> {
  /** `DeliveryDetail` as JSON. */
  readonly detail: string;
}

/** Names the delivery that keeps the content of another one. */
export interface SharedContent {
  readonly contentOf: string;
}

/** Rows of deliveries, and of what their events start. */
export interface DeliveryRows extends EventRows {
  /** The outcome of a delivery, if it is stored. */
  findSummary(deliveryId: string): Found<DeliverySummary>;
  /** Stores a delivery; without content where what arrived is not kept. */
  insertDelivery(
    facts: DeliveryFacts,
    summary: DeliverySummary,
    content?: OwnContent | SharedContent,
  ): void;
  moveCursor(cursor: Cursor): void;
  /**
   * Refuses what was decided by resources of before; nothing when no version is given.
   *
   * @throws {StaleResourcesError}
   */
  checkResources(version: number | undefined): void;
}

/**
 * Names the facts that a transaction is going to ask for: PostgreSQL loads them before it begins,
 * in one round trip. Nothing has to be named for SQLite, which reads each when it is asked for.
 */
export interface FactRequest {
  /** Every fact that the rules may ask for when they decide on a new task. */
  addNew(task: NewTask): void;
  /** A stored task, with the limits that it counts against. */
  addTask(id: string): void;
  /** The version of the resources. */
  addResourceVersion(): void;
}

/** Runs a transaction of this folder as a part of the transaction that is open in the database. */
export type ChangeTasks = <Result>(
  request: (facts: FactRequest) => void,
  transaction: (rows: DeliveryRows) => Result,
) => Result | Promise<Result>;
