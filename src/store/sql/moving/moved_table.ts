/**
 * A table that `svc db move` takes from a file to PostgreSQL, as both sides know it.
 *
 * @module
 */

import type { Row } from "../row.ts";

/** The type of a column, by which its values are sent and read back. */
export type ColumnType = "text" | "int" | "real" | "bytes";

/** The node that the data directory becomes, and what its plans say. */
export interface MovingTo {
  /** Id of the node. */
  readonly node: string;
  /** Whether what the steps of a plan made stays where they ran (`rules/placement.ts`). */
  readonly staysBehind: (planHash: string) => boolean;
}

/** A table, and what becomes of its rows. */
export interface MovedTable {
  /** Every column that is written in PostgreSQL. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /**
   * Expressions over a row of the file, for columns that it does not have, and for further values that
   * `change` needs.
   */
  readonly from?: Readonly<Record<string, string>>;
  /** Columns of the file that PostgreSQL does not have. */
  readonly dropped?: readonly string[];
  /**
   * The condition for rows that a move of only the latest records takes along, over the tables
   * `kept_tasks (id)` and `kept_deliveries (id)` and the time `:since`; every row when absent.
   */
  readonly latest?: string;
  /** The columns whose values are other ones where a node owns the row. */
  readonly change?: (row: Row, to: MovingTo) => Row;
}

/** Whether rows of the table are numbered in the order in which they were stored. */
export const isNumbered = ({ columns, from }: MovedTable): boolean =>
  "position" in columns && from?.["position"] === "rowid";

/** The names of columns of one type. */
export function columnsOf({ columns }: MovedTable, type: ColumnType): string[] {
  return Object.keys(columns).filter((name) => columns[name] === type);
}
