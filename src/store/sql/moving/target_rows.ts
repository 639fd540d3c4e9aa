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

/** Takes rows. */
export interface TargetRows {
  /** Writes rows of a table; they are sent when this resolves, and in when the next call does. */
  write(name: string, rows: readonly Row[]): Promise<void>;
}

/** Shows what it has taken. */
export interface VerifiedTarget {
  /** The sums of the rows that were written, by table. */
  readonly written: ReadonlyMap<string, TableSum>;
  /** Reads every table back; yields the number of rows so far, and gives the sums by table. */
  readBack(): AsyncGenerator<number, ReadonlyMap<string, TableSum>, undefined>;
  /** Shows tasks as a daemon does that runs on it. */
  readonly store: ShowingStore;
  /** The logs, to be read. */
  logs(clock: Clock): LogStore;
}
