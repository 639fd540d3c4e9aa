/**
 * The definition of a type of record: how it is listed, found and shown. Each has its entry in
 * `records.ts`.
 *
 * @module
 */

import type { Column } from "../../resources/kind.ts";
import type { RecordName } from "../../resources/record_names.ts";
import type { ListQuery } from "../../store/list_query.ts";
import type { AuditStore, ControlAuditStore, TokenStore } from "../../store/audit_store.ts";
import type { DeliveryStore } from "../../store/delivery_store.ts";
import type { OutboxStore } from "../../store/outbox_store.ts";
import type { SourceEventStore, ThreadStore } from "../../store/source_event_store.ts";
import type { TaskStore } from "../../store/task_store.ts";

/** The part of the store that types of records read. */
export type RecordStore =
  & AuditStore
  & ControlAuditStore
  & DeliveryStore
  & OutboxStore
  & SourceEventStore
  & TaskStore
  & ThreadStore
  & TokenStore;

/** One type of record; `Part` is the part of the store that it reads. */
export interface RecordType<Row, Name extends RecordName = RecordName, Part = RecordStore> {
  readonly name: Name;
  /** Newest first. */
  readonly list: (store: Part, query: RecordQuery) => Promise<Row[]>;
  /** The record with this id first, if there is one. */
  readonly find: (store: Part, prefix: string) => Promise<Row[]>;
  readonly id: (row: Row) => string;
  /** As JSON. */
  readonly view: (row: Row) => Record<string, unknown>;
  readonly columns: (now: number) => readonly Column<Row>[];
  /** Filters it supports; none when absent. */
  readonly filters?: readonly RecordFilter[];
  /** Whether a record can still change, and in which states; absent when none ever changes. */
  readonly open?: {
    readonly isOpen: (row: Row) => boolean;
    readonly states: readonly string[];
  };
}

/** Filters that not every type supports. */
export type RecordFilter = "outcome" | "state" | "workflow" | "before";

/** Which records to list; the possible outcomes depend on the type. */
export interface RecordQuery extends ListQuery {
  /** Only with this outcome. */
  readonly outcome?: string;
  /** Only in this state. */
  readonly state?: string;
  /** Only of this workflow. */
  readonly workflow?: string;
  /** Only with an id below this one. */
  readonly before?: string;
}
