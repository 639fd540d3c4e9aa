/**
 * Takes rows and logs from a database file to PostgreSQL, a few at a time.
 *
 * @module
 */

import type { Progress } from "../store/maintenance.ts";
import { LogFiles } from "../store/files/log_files.ts";
import { MOVED } from "../store/sql/moving/moved_tables.ts";
import type { TargetRows } from "../store/sql/moving/target_rows.ts";
import type { Row } from "../store/sql/row.ts";
import type { MovedFile } from "../store/sqlite/maintenance/moved_file.ts";
import { movedBlocks } from "./moved_log.ts";

/** Rows that are sent at once, and their bytes. */
const PAGE_ROWS = 1000;
const PAGE_BYTES = 512 * 1024;
/** Most bytes that the database keeps of the output of a step. */
export const MAX_STEP_BYTES = 8 * 1024 * 1024;
/** Most tasks that are named. */
const MAX_NAMED = 100;

/** The logs that were taken along. */
export interface CopyCounts {
  readonly logs: number;
  readonly bytes: number;
  /** Tasks with a step whose output was cut off. */
  readonly cut: readonly string[];
}

/** What is copied. */
export interface CopyHost {
  readonly file: MovedFile;
  readonly target: TargetRows;
  /** Id of the node. */
  readonly node: string;
  /** Number of rows. */
  readonly total: number;
  /** Directory of the logs. */
  readonly logs: string;
}

/** Copies every row, then the logs. */
export async function* copyRows(
  { file, target, node, total, logs }: CopyHost,
): AsyncGenerator<Progress, CopyCounts, undefined> {
  let done = 0;
  for (const [name, table] of MOVED) {
    const pages = new Pages((rows) => target.write(name, rows));
    for (const row of file.rows(name, table, node)) {
      if (!pages.add(row)) continue;
      done += await pages.send();
      yield { fraction: done / (total + 1) };
    }
    done += await pages.send();
  }
  return yield* copyLogs({ file, target, logs });
}

async function* copyLogs(
  { file, target, logs }: Pick<CopyHost, "file" | "target" | "logs">,
): AsyncGenerator<Progress, CopyCounts, undefined> {
  const files = new LogFiles(logs);
  const cut: string[] = [];
  let [count, bytes] = [0, 0];
  const pages = new Pages((rows) => target.write("task_logs", rows));
  for await (const id of files.left.owners()) {
    if (!file.hasTask(id)) continue;
    count++;
    const onCut = () => {
      if (cut.at(-1) !== id && cut.length < MAX_NAMED) cut.push(id);
    };
    for await (const block of movedBlocks(files.of(id), MAX_STEP_BYTES, onCut)) {
      bytes += block.bytes.length;
      if (!pages.add({ task_id: id, ...block })) continue;
      await pages.send();
      yield { fraction: 1 };
    }
  }
  await pages.send();
  return { logs: count, bytes, cut };
}

/** Collects rows until they are enough for one statement. */
class Pages {
  readonly #write: (rows: readonly Row[]) => Promise<void>;
  #rows: Row[] = [];
  #bytes = 0;

  constructor(write: (rows: readonly Row[]) => Promise<void>) {
    this.#write = write;
  }

  /** Adds a row; gives whether there are enough. */
  add(row: Row): boolean {
    this.#rows.push(row);
    for (const value of Object.values(row)) {
      if (typeof value === "string" || value instanceof Uint8Array) this.#bytes += value.length;
    }
    return this.#rows.length >= PAGE_ROWS || this.#bytes >= PAGE_BYTES;
  }

  /** Sends what there is; gives the number of rows. */
  async send(): Promise<number> {
    const rows = this.#rows;
    if (rows.length === 0) return 0;
    this.#rows = [];
    this.#bytes = 0;
    await this.#write(rows);
    return rows.length;
  }
}
