/**
 * Measures what each trigger takes in a database file and in the logs beside it. It reads a slice
 * at a time, each at its own moment, so that the write-ahead log of a daemon can be folded in
 * meanwhile. It takes long for a large file, so it runs in the thread of `job_worker.ts`.
 *
 * @module
 */

import { bytesOnDisk } from "../../../base/disk_space.ts";
import type { Progress } from "../../maintenance.ts";
import { number, text } from "../../sql/columns.ts";
import { EMPTY_USAGE, lastIdIn, SLICE_ROWS, UsageSum, usageTables } from "../../sql/usage.ts";
import type { DatabaseUsage } from "../../usage.ts";
import { Database, toRead } from "../engine/database.ts";
import { databaseSize } from "../engine/database_size.ts";

/** A file, and how it is read. */
export interface UsageRequest {
  readonly path: string;
  /** Directory of the logs of tasks, a file each. */
  readonly logs: string;
  /** Whether no other process uses the file meanwhile. */
  readonly alone: boolean;
}

const sizeOf = (column: string) => `coalesce(octet_length(${column}), 0)`;

/** Measures it; `onSlice` is called after each slice, and ends it by throwing. */
export function measureUsage(
  { path, logs, alone }: UsageRequest,
  onSlice: (progress: Progress) => void,
): DatabaseUsage {
  using db = new Database(path, alone ? toRead(path) : { readOnly: true });
  const tables = usageTables(sizeOf, true);
  const all = tables.reduce((sum, { name }) => sum + countOf(db, name), 0);
  const logFiles = namesIn(logs);
  const sum = new UsageSum();
  let done = 0;
  for (const { name, sql, usage } of tables) {
    for (let last: string | undefined = ""; last !== undefined;) {
      const rows = db.all(sql, last, SLICE_ROWS);
      for (const row of rows) {
        sum.add(row, usage(row));
        const log = name === "tasks" ? `${text(row, "id")}.jsonl` : "";
        if (!logFiles.has(log)) continue;
        sum.add(row, { ...EMPTY_USAGE, logBytes: fileBytes(`${logs}/${log}`) });
      }
      last = lastIdIn(rows, name === "tasks" ? "id" : "last");
      done += SLICE_ROWS;
      onSlice({ fraction: Math.min(1, done / Math.max(1, all)) });
    }
  }
  const { bytes, unusedBytes, reclaimable } = databaseSize(db);
  return { bytes, unusedBytes: reclaimable ? unusedBytes : 0, triggers: sum.triggers };
}

function countOf(db: Database, table: string): number {
  return number(db.get(`SELECT count(*) AS n FROM ${table}`) ?? {}, "n");
}

/**
 * The names in a directory: to look for each file that is not there would take most of the time.
 */
function namesIn(directory: string): ReadonlySet<string> {
  try {
    return new Set([...Deno.readDirSync(directory)].map(({ name }) => name));
  } catch {
    return new Set();
  }
}

/** Bytes that a file takes on the disk. */
function fileBytes(path: string): number {
  try {
    return bytesOnDisk(Deno.lstatSync(path));
  } catch {
    return 0; // gone meanwhile
  }
}
