/**
 * What the program asks of storage, in its own words. Every method is one transaction, synced to
 * disk before it resolves. Nothing here knows SQL; `sqlite/` is one implementation.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { Resource, ResourceKey } from "../resources/resource.ts";
import type {
  AuditEnd,
  AuditQuery,
  AuditRow,
  AuditStart,
  AuditVerdict,
  ControlEvent,
  ControlToken,
} from "./audit_records.ts";
import type {
  Cursor,
  Delivery,
  DeliveryContent,
  DeliveryQuery,
  EventOutcome,
  KeyUse,
  NewDelivery,
  Rejection,
  RejectionLimits,
  StoredDelivery,
} from "./delivery_records.ts";
import type { ListQuery } from "./list_query.ts";
import type { Maintenance } from "./maintenance.ts";
import type {
  Binding,
  BindingQuery,
  NewSourceEvent,
  RecordedSourceEvent,
  Routed,
  Routing,
  SourceEvent,
  SourceEventClaim,
  SourceEventDemand,
  SourceEventQuery,
  ThreadKey,
} from "./source_event_records.ts";
import type {
  Cancelled,
  Claim,
  ClaimedTask,
  InboxMessage,
  RetryOf,
  StepRecord,
  Task,
  TaskEnd,
  TaskQuery,
} from "./task_records.ts";

/** A change of one resource. */
export type ResourceChange =
  | { readonly op: "put"; readonly resource: Resource }
  | { readonly op: "delete"; readonly key: ResourceKey };

/** How much there is of what changes by itself. */
export interface Counts {
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

/** Storage of one data directory. */
export interface Store extends AsyncDisposable, Maintenance {
  /** Settles only when storage can no longer be used at all; the daemon then has to end. */
  readonly failed: Promise<Error>;

  /** Every resource there is. */
  loadResources(): Promise<Resource[]>;
  /** Makes all changes, or none. */
  changeResources(changes: readonly ResourceChange[]): Promise<void>;

  /**
   * Decides which events are new and have room, and stores the delivery and the tasks of those.
   *
   * @throws {AppError} `rate_limited` when its trigger refuses more at this rate; nothing is stored.
   */
  recordDelivery(delivery: NewDelivery): Promise<readonly EventOutcome[]>;
  /** Stores a handshake of a platform, which starts nothing. */
  recordHandshake(delivery: Delivery, content: DeliveryContent): Promise<void>;
  /** Stores refused requests; of each trigger only the newest stay. */
  recordRejections(rejections: readonly Rejection[], limits: RejectionLimits): Promise<void>;
  /** Newest first. */
  listDeliveries(query: DeliveryQuery): Promise<Delivery[]>;
  /** A delivery with what arrived; `undefined` when there is none of that id. */
  readDelivery(id: string): Promise<StoredDelivery | undefined>;
  /** Deliveries whose id starts with `prefix`, at most two: enough to tell one from several. */
  findDeliveries(prefix: string): Promise<Delivery[]>;

  /** Newest first. */
  listTasks(query: TaskQuery): Promise<Task[]>;
  /** Tasks whose id starts with `prefix`, at most two: enough to tell one from several. */
  findTasks(prefix: string): Promise<Task[]>;
  /** Marks the oldest tasks that are due and have room running and hands them over, at most `limit`. */
  claimTasks(limit: number, now: number): Promise<Claim>;
  /** Takes over the tasks that run for a node that is gone; what they left behind is to be ended. */
  claimInterrupted(): Promise<ClaimedTask[]>;
  /** Counts one more restart of each of these tasks. */
  countRestarts(taskIds: readonly string[]): Promise<void>;
  /** Stores how a step stands. */
  saveStep(taskId: string, step: StepRecord): Promise<void>;
  /** Ends a running task; `false` when it had ended already. */
  finishTask(end: TaskEnd): Promise<boolean>;
  /** Puts a running task back in the queue, its finished steps kept. */
  requeueTask(taskId: string): Promise<void>;
  /** Ends a pending task, or notes that a running one is to end; `followed` as in a `TaskEnd`. */
  cancelTask(
    taskId: string,
    end: { reason: string; now: number; followed?: boolean },
  ): Promise<Cancelled>;
  /** What a task runs, as it was stored; `undefined` when something was missing for it. */
  findPlan(taskId: string): Promise<string | undefined>;
  /** Stores a task that repeats an ended one, and gives it back. */
  retryTask(retry: RetryOf): Promise<Task>;
  /** Notes the directory a task has for itself; empty when it is gone. */
  setTaskDirectory(taskId: string, directory: string): Promise<void>;
  /** Adds a message to the inbox of a task that has not ended; `undefined` when it has. */
  addToInbox(taskId: string, message: JsonObject, now: number): Promise<InboxMessage | undefined>;
  /** The inbox of a task, oldest first. */
  listInbox(taskId: string): Promise<InboxMessage[]>;
  /** Ended tasks that triggers follow and that have not been looked at, oldest first. */
  listTaskEnds(limit: number): Promise<Task[]>;
  /** An ended task has been looked at. */
  forgetTaskEnd(taskId: string): Promise<void>;
  /**
   * Removes ended tasks from before `before`, and where `keep` is given, of each trigger those beyond
   * its newest `keep`; at most `limit`. Gives what was removed, with the directories they had for
   * themselves.
   */
  pruneTasks(
    options: { before: number; keep?: number; limit: number },
  ): Promise<{ id: string; directory: string }[]>;
  /** Removes deliveries from before `before` whose tasks are gone, at most `limit`; how many. */
  pruneDeliveries(options: { before: number; limit: number }): Promise<number>;

  /** Stores an event of a chat platform with its delivery, unless it is stored already. */
  recordSourceEvent(event: NewSourceEvent): Promise<RecordedSourceEvent>;
  /** Takes the oldest events that are due, of each thread the first one that is not over. */
  claimSourceEvents(demand: SourceEventDemand): Promise<SourceEventClaim>;
  /** Carries out what was decided on a claimed event, once. */
  routeSourceEvent(id: string, routing: Routing, now: number): Promise<Routed>;
  /**
   * Notes that routing failed: `dueAt` says when it is tried again, never when absent; `counts` whether
   * it is the event's own failure.
   */
  postponeSourceEvent(
    id: string,
    failure: { reason: string; dueAt?: number; counts: boolean },
  ): Promise<void>;
  /** Puts an event that was not routed back in the queue; `false` when it was, or is being. */
  replaySourceEvent(id: string, now: number): Promise<boolean>;
  /** Newest first. */
  listSourceEvents(query: SourceEventQuery): Promise<SourceEvent[]>;
  /** Events whose id starts with `prefix`, at most two. */
  findSourceEvents(prefix: string): Promise<SourceEvent[]>;
  /** The event that a delivery brought; none when it was a repetition. */
  findEventOfDelivery(deliveryId: string): Promise<SourceEvent | undefined>;
  /** The thread, or where there is none the conversation, that a task or the one it repeats came from. */
  findThreadOfTask(taskId: string): Promise<ThreadKey | undefined>;
  /** Removes events and bindings from before `before` whose tasks are gone, at most `limit`; how many. */
  pruneSourceEvents(options: { before: number; limit: number }): Promise<number>;
  /** Binds a thread to a task, whatever it was bound to before. */
  bindThread(binding: Omit<Binding, "createdAt">): Promise<void>;
  /** Newest first. */
  listBindings(query: BindingQuery): Promise<Binding[]>;
  /** Bindings whose id starts with `prefix`, at most two. */
  findBindings(prefix: string): Promise<Binding[]>;

  /** Up to where a schedule has been looked at; `undefined` when it never was. */
  findCursor(name: string): Promise<number | undefined>;
  /** Moves a cursor. */
  moveCursor(cursor: Cursor): Promise<void>;

  /** Adds to the uses of keys. */
  recordKeyUse(uses: readonly KeyUse[]): Promise<void>;
  /** Uses of the keys of one SecretStore. */
  listKeyUse(project: string, store: string): Promise<KeyUse[]>;

  /** Writes a row that says `running`; without it nothing may run. */
  startAudit(start: AuditStart): Promise<void>;
  /** Finishes a running row, once. */
  finishAudit(id: string, end: AuditEnd): Promise<void>;
  /** Writes rows of things that are over when they are known. */
  recordAudit(
    rows: readonly { readonly start: AuditStart; readonly end: AuditEnd }[],
  ): Promise<void>;
  /** Takes over the running rows of a node that is gone, oldest first; each has to be finished. */
  claimInterruptedAudits(): Promise<AuditRow[]>;
  /** Newest first. */
  listAudit(query: AuditQuery): Promise<AuditRow[]>;
  /** Audit rows whose id starts with `prefix`, at most two. */
  findAudit(prefix: string): Promise<AuditRow[]>;
  /** Whether rows were changed or removed. */
  verifyAudit(): Promise<AuditVerdict>;
  /** Removes the oldest rows from before `before`, or beyond `keep` rows, a few at a time. */
  pruneAudit(before: number, keep: number): Promise<number>;
  /** Writes a trace of a control operation. */
  recordControl(event: ControlEvent): Promise<void>;
  /** Newest first. */
  listControl(query: ListQuery): Promise<ControlEvent[]>;

  /** Stores a token under the hash of its text. */
  createToken(token: ControlToken, hash: string): Promise<void>;
  /** The token with this hash. */
  findToken(hash: string): Promise<ControlToken | undefined>;
  /** Newest first. */
  listTokens(): Promise<ControlToken[]>;
  /** Ends a token. */
  revokeToken(id: string, now: number): Promise<void>;

  /** Counts for `svc status`. */
  counts(): Promise<Counts>;
}

/** Names of the methods that run in the store's own thread. */
export type StoreMethod = Exclude<keyof Store, "failed" | typeof Symbol.asyncDispose>;
