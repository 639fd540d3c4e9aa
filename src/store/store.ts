/**
 * What the program asks of storage, in its own words. Every method is one transaction, synced to
 * disk before it resolves. Nothing here knows SQL; `sqlite/` is one implementation.
 *
 * @module
 */

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
import type { ClaimedTask, StepRecord, Task, TaskEnd } from "./task_records.ts";

/** A change of one resource. */
export type ResourceChange =
  | { readonly op: "put"; readonly resource: Resource }
  | { readonly op: "delete"; readonly key: ResourceKey };

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

  /** Decides which events are new, and stores the delivery and the tasks of those. */
  recordDelivery(delivery: NewDelivery): Promise<readonly EventOutcome[]>;
  /** Stores a greeting of a platform, which starts nothing. */
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
  /** Marks what was running when the daemon last ended. */
  interruptAudits(now: number): Promise<number>;
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
