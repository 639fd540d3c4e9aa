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
export type DeliveryOutcome =
  | "accepted"
  | "filtered"
  | "duplicate"
  | "skipped"
  | "handshake"
  | "rejected";

/** What became of one event of a delivery; most deliveries have one. */
export interface EventOutcome {
  /** What was decided. */
  readonly outcome: "accepted" | "filtered" | "duplicate" | "skipped";
  /** Why, for the operator; empty when there is nothing to say. */
  readonly reason: string;
  /** Task it started, or of which it is a duplicate. */
  readonly taskId?: string;
  /** Delivery of which it is a duplicate. */
  readonly duplicateOf?: string;
}

/** What else is worth knowing of a delivery, for `svc delivery explain`. */
export interface DeliveryDetail {
  /** Names of the headers that came, in lower case. */
  readonly headerNames: readonly string[];
  /** Milliseconds after arrival at which each stage was done, in order. */
  readonly stages: Readonly<Record<string, number>>;
  /** Condition that was evaluated. */
  readonly condition?: string;
  /** Each event, where there are several. */
  readonly events?: readonly EventOutcome[];
  /** Delivery that was sent again. */
  readonly redeliveryOf?: string;
}

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
  /** SecretStore whose key matched; empty where none did. */
  readonly secretStore: string;
  /** Task it started; empty where it started none. */
  readonly taskId: string;
  /** Size of the body in bytes. */
  readonly bodyBytes: number;
  /** Milliseconds from arrival to the decision. */
  readonly durationMs: number;
  /** What else is worth knowing. */
  readonly detail: DeliveryDetail;
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
  /** Names the event among those of its trigger; an earlier one with the same key stops this one. */
  readonly dedupKey?: string;
}

/** What was decided on one event of a delivery, before earlier events are looked at. */
export type EventDecision =
  | { readonly outcome: "accepted"; readonly task: NewTask; readonly note?: string }
  | { readonly outcome: "filtered" | "skipped"; readonly reason: string };

/** A delivery with everything that belongs in the same transaction. */
export interface NewDelivery {
  /** The record; outcome, reason and task are those of the events. */
  readonly delivery: Omit<Delivery, "outcome" | "reason" | "taskId">;
  /** What arrived. */
  readonly content: DeliveryContent;
  /** Its events, at least one. */
  readonly events: readonly EventDecision[];
  /** How long a key makes later events duplicates, in milliseconds. */
  readonly dedupWindowMs: number;
}

/** A delivery as it was stored. */
export interface StoredDelivery {
  /** The record. */
  readonly delivery: Delivery;
  /** What arrived; absent of a rejected one that was not to be kept. */
  readonly content?: DeliveryContent;
}

/** A refused request, with what arrived where its trigger asks for that. */
export type Rejection = StoredDelivery;

/** How many refused requests are kept of each trigger. */
export interface RejectionLimits {
  /** Records. */
  readonly records: number;
  /** Of these, with headers and body. */
  readonly contents: number;
}

/** Uses of one key of a SecretStore by one trigger. */
export interface KeyUse {
  /** Project of store and trigger. */
  readonly project: string;
  /** SecretStore. */
  readonly store: string;
  /** Key in it. */
  readonly key: string;
  /** Trigger whose delivery it matched. */
  readonly trigger: string;
  /** How often. */
  readonly count: number;
  /** Milliseconds since the epoch of the last time. */
  readonly lastAt: number;
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
  /** Only from this time on, in milliseconds since the epoch. */
  readonly since?: number;
  /** At most this many, newest first. */
  readonly limit: number;
}

/** Which deliveries a list is to hold. */
export interface DeliveryQuery extends ListQuery {
  /** Only with this outcome; `failed` means that a task it started failed. */
  readonly outcome?: DeliveryOutcome | "failed";
  /** Only with an id below this one, to read on. */
  readonly before?: string;
}

/** How much there is of what changes by itself. */
export interface Counts {
  /** Tasks that wait. */
  readonly pending: number;
  /** Tasks that run. */
  readonly running: number;
}

/** What is recorded of a plugin before it runs, or of an apply of one (spec 2.8, contract 4). */
export interface AuditStart {
  /** Identifier, sorts by time. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** What was done with it. */
  readonly action: "apply" | "execute";
  /** Kind of the CRD it belongs to. */
  readonly crdKind: string;
  /** Its name; of a hook, `hook:create` and so on. */
  readonly pluginName: string;
  /** Its shell line, as written. */
  readonly command: string;
  /** `interceptor`, `transformer`, `cron` or `hook`. */
  readonly pluginType: string;
  /** Phase of the pipeline; empty outside of it. */
  readonly phase: string;
  /** Trigger it ran for; empty outside the pipeline. */
  readonly trigger: string;
  /** Delivery it ran for; empty outside the pipeline. */
  readonly deliveryId: string;
  /** Role of who applied it; `system` for an execution. */
  readonly role: string;
  /** Mode of the policy; `closed` when the policy could not be understood. */
  readonly policyMode: string;
}

/** Results of an audit row. */
export type AuditResult =
  | "allowed"
  | "denied"
  | "audit_warning"
  | "running"
  | "ok"
  | "rejected"
  | "failed"
  | "timeout"
  | "interrupted";

/** What is recorded when it is over. */
export interface AuditEnd {
  /** How it ended. */
  readonly result: Exclude<AuditResult, "running">;
  /** Milliseconds since the epoch. */
  readonly finishedAt: number;
  /** Exit status, where a process ran. */
  readonly exitCode?: number;
  /** Milliseconds it took. */
  readonly durationMs?: number;
  /** The beginning of its standard error, secrets hidden; or why it was denied. */
  readonly stderr: string;
}

/** One audit row. */
export type AuditRow = AuditStart & Omit<AuditEnd, "result" | "finishedAt"> & {
  /** Where it stands. */
  readonly result: AuditResult;
  /** Milliseconds since the epoch; absent while it runs. */
  readonly finishedAt?: number;
};

/** Which audit rows a list is to hold. */
export interface AuditQuery extends ListQuery {
  /** Only with this result. */
  readonly outcome?: string;
}

/** Whether the audit is as it was written. */
export interface AuditVerdict {
  /** Rows that were checked. */
  readonly rows: number;
  /** What is wrong, one sentence each; empty when nothing is. */
  readonly faults: readonly string[];
}

/** An operation of the control plane that leaves a trace: admin work, secrets read, refusals. */
export interface ControlEvent {
  /** Identifier, sorts by time. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Name of the operation. */
  readonly operation: string;
  /** What it was about, such as `secretstore/github`. */
  readonly target: string;
  /** Who asked: `socket`, `plugin`, `step`, or the name of a token. */
  readonly caller: string;
  /** Role of the caller. */
  readonly role: string;
  /** What came of it. */
  readonly result: "done" | "denied";
}

/** A bearer token of the control plane, without its text. */
export interface ControlToken {
  /** Identifier, sorts by time. */
  readonly id: string;
  /** What it is for, in the owner's words. */
  readonly name: string;
  /** What its holder may do. */
  readonly role: "read_only" | "operator" | "admin";
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Milliseconds since the epoch; absent while it holds. */
  readonly revokedAt?: number;
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
