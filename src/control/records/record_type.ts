/**
 * What a sort of record is: how it is listed, found and shown. Each that there is has its entry in
 * `records.ts`.
 *
 * @module
 */

import type { Column } from "../../resources/kind.ts";
import type { ListQuery } from "../../store/list_query.ts";
import type { Store } from "../../store/store.ts";

/** One sort of record. */
export interface RecordType<Row> {
  /** What people call it; the first is the singular, the second the plural. */
  readonly names: readonly string[];
  /** Newest first. */
  readonly list: (store: Store, query: RecordQuery) => Promise<Row[]>;
  /** At most two whose id starts so. */
  readonly find: (store: Store, prefix: string) => Promise<Row[]>;
  /** Its identifier. */
  readonly id: (row: Row) => string;
  /** As JSON. */
  readonly view: (row: Row) => Record<string, unknown>;
  /** As a table. */
  readonly columns: (now: number) => readonly Column<Row>[];
  /** What else it can be asked for; nothing when absent. */
  readonly filters?: readonly RecordFilter[];
  /** Whether one can still change, and in which states; absent when none ever changes. */
  readonly open?: {
    readonly isOpen: (row: Row) => boolean;
    readonly states: readonly string[];
  };
}

/** Filters that not every sort understands. */
export type RecordFilter = "outcome" | "state" | "workflow" | "before";

/** Which records a list is to hold; what an outcome can be depends on the sort. */
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
