/**
 * The database into which rows move, as those who write and verify it see it.
 *
 * @module
 */

import type { Clock } from "../../../base/clock.ts";
import type { LogStore } from "../../log_store.ts";
import type { Row } from "../row.ts";
import type { TableSum } from "./row_sums.ts";
import type { ShowingStore } from "./sampled_records.ts";

/** Rows, one after the other. */
export type Rows = Iterable<Row> | AsyncIterable<Row>;

/** Takes rows. */
export interface TargetRows {
  /** Writes the rows of a table; yields their number now and then. They are in when it has ended. */
  write(name: string, rows: Rows): AsyncGenerator<number, void, undefined>;
  /** The sums of the rows that were written, by table. */
  readonly written: ReadonlyMap<string, TableSum>;
}

/** Shows what it has taken. */
export interface VerifiedTarget extends Pick<TargetRows, "written"> {
  /** Reads every table back; yields the number of rows now and then, and gives the sums by table. */
  readBack(): AsyncGenerator<number, ReadonlyMap<string, TableSum>, undefined>;
  /** Shows tasks as a daemon does that runs on it. */
  readonly store: ShowingStore;
  /** The logs, to be read. */
  logs(clock: Clock): LogStore;
}
