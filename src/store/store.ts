/**
 * The store, independent of its database: the sum of small interfaces, of which each part of the
 * program takes the ones it needs. Every method is one transaction, synced to disk before it
 * resolves. `sqlite/` and `postgres/` implement it.
 *
 * @module
 */

import type { AuditRecorder, AuditStore, ControlAuditStore, TokenStore } from "./audit_store.ts";
import type { ConnectionStore } from "./connection_store.ts";
import type { ConversationStore } from "./conversation_store.ts";
import type {
  CursorStore,
  DeliveryRecorder,
  DeliveryStore,
  KeyUseStore,
} from "./delivery_store.ts";
import type { DeletionStore } from "./deletion_store.ts";
import type { IdSearch } from "./id_search.ts";
import type { Maintenance } from "./maintenance.ts";
import type { NodeStore } from "./node_store.ts";
import type { OutboxQueue, OutboxRecorder, OutboxStore } from "./outbox_store.ts";
import type { PauseStore } from "./pause_store.ts";
import type { ResourceStore } from "./resource_store.ts";
import type { RetentionStore } from "./retention_store.ts";
import type {
  SourceEventQueue,
  SourceEventRecorder,
  SourceEventStore,
  ThreadStore,
} from "./source_event_store.ts";
import type {
  InboxStore,
  TaskCounter,
  TaskEndStore,
  TaskQueue,
  TaskRecorder,
  TaskStore,
} from "./task_store.ts";
import type { BudgetStore } from "./budget_store.ts";
import type { ChildStore } from "./child_store.ts";
import type { TurnStore } from "./turn_store.ts";
import type { WaitStore } from "./wait_store.ts";

/**
 * Storage of one data directory. An implementation is a plain object with its methods as properties
 * of its own, so that `{ ...store, saveStep }` is the same store with one method replaced.
 */
export interface Store
  extends
    AsyncDisposable,
    NodeStore,
    ResourceStore,
    DeliveryRecorder,
    DeliveryStore,
    ConnectionStore,
    CursorStore,
    KeyUseStore,
    TaskStore,
    TaskQueue,
    TaskRecorder,
    TaskEndStore,
    TaskCounter,
    InboxStore,
    BudgetStore,
    TurnStore,
    WaitStore,
    ChildStore,
    PauseStore,
    SourceEventRecorder,
    SourceEventQueue,
    SourceEventStore,
    ThreadStore,
    ConversationStore,
    OutboxRecorder,
    OutboxQueue,
    OutboxStore,
    RetentionStore,
    DeletionStore,
    AuditRecorder,
    AuditStore,
    ControlAuditStore,
    TokenStore,
    IdSearch,
    Maintenance {
  /** Resolves when the store can no longer be used; the daemon then has to end. */
  readonly failed: Promise<Error>;
}

/** Names of the methods that read or write. */
export type StoreMethod = Exclude<keyof Store, "failed" | typeof Symbol.asyncDispose>;
