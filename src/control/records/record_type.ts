/**
 * The definition of a type of record: how it is listed, found and shown. Each has its entry in
 * `records.ts`.
 *
 * @module
 */

import type { Column } from "../../resources/kind.ts";
import type { RecordName } from "../../resources/record_names.ts";
import type { AuditStore, ControlAuditStore, TokenStore } from "../../store/audit_store.ts";
import type { ConversationStore } from "../../store/conversation_store.ts";
import type { DeliveryQuery } from "../../store/delivery_records.ts";
import type { DeliveryStore } from "../../store/delivery_store.ts";
import type { NodeStore } from "../../store/node_store.ts";
import type { OutboxStore } from "../../store/outbox_store.ts";
import type { SourceEventQuery } from "../../store/source_event_records.ts";
import type { SourceEventStore, ThreadStore } from "../../store/source_event_store.ts";
import type { TaskQuery } from "../../store/task_records.ts";
import type { TaskStore } from "../../store/task_store.ts";
import type { WaitStore } from "../../store/wait_store.ts";

/** The part of the store that types of records read. */
export type RecordStore =
  & AuditStore
  & ControlAuditStore
  & Pick<ConversationStore, "listConversations" | "findConversations">
  & DeliveryStore
  & Pick<NodeStore, "listNodes">
  & OutboxStore
  & SourceEventStore
  & TaskStore
  & ThreadStore
  & TokenStore
  & Pick<WaitStore, "listWaits" | "listApprovals">;

/** One type of record; `Part` is the part of the store that it reads. */
export interface RecordType<Row, Name extends RecordName = RecordName, Part = RecordStore> {
  readonly name: Name;
  /** In the order of the list: newest first, unless the query says otherwise. */
  readonly list: (store: Part, query: RecordQuery) => Promise<Row[]>;
  /** The record with this id first, if there is one. */
  readonly find: (store: Part, prefix: string) => Promise<Row[]>;
  readonly id: (row: Row) => string;
  readonly view: (row: Row) => Record<string, unknown>;
  readonly columns: (now: number) => readonly Column<Row>[];
  /** Filters it supports; none when absent. */
  readonly filters?: readonly RecordFilter[];
  /** Fields of a query without an index: the records have to be looked at one by one. */
  readonly searched?: readonly (keyof RecordQuery)[];
  /**
   * Fields of its view that change all the time. A change of these alone is not reported to
   * watches.
   */
  readonly passing?: readonly string[];
  /** Another type, of which each record shows one: it changes with that one. */
  readonly shows?: RecordName;
  /** Whether a record can still change, and in which states; absent when none ever changes. */
  readonly open?: {
    readonly isOpen: (row: Row) => boolean;
    readonly states: readonly string[];
    /** The one of these states in which the view of a record depends on other records, if any. */
    readonly pending?: string;
  };
}

/** Filters that not every type supports. */
export type RecordFilter =
  | ("trigger" | "outcome" | "state" | "workflow" | "before" | "after" | "until")
  | ("reason" | "status" | "remote" | "key" | "min_duration_ms")
  | ("delivery" | "parent" | "retry_of" | "session" | "thread" | "task" | "caller");

/** Which records to list; the possible outcomes and states depend on the type. */
export interface RecordQuery
  extends
    Omit<DeliveryQuery, "outcome">,
    Omit<TaskQuery, "state">,
    Omit<SourceEventQuery, "state"> {
  /** Only with this outcome. */
  readonly outcome?: string;
  /** Only in this state. */
  readonly state?: string;
  /** Only messages about this task. */
  readonly task?: string;
  /** Only what this caller did. */
  readonly caller?: string;
}
