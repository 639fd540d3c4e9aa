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
  let before = 0;
  for (const [name, table] of MOVED) {
    for await (const written of target.write(name, file.rows(name, table, node))) {
      yield { fraction: (before + written) / (total + 1) };
    }
    before += target.written.get(name)?.rows ?? 0;
  }
  const counts = { logs: 0, bytes: 0, cut: [] };
  for await (const _ of target.write("task_logs", logRows({ file, logs }, counts))) {
    yield { fraction: 1 };
  }
  return counts;
}

/** The logs of tasks that move, in rows; counts them. */
async function* logRows(
  { file, logs }: Pick<CopyHost, "file" | "logs">,
  counts: { logs: number; bytes: number; readonly cut: string[] },
): AsyncGenerator<Row> {
  const files = new LogFiles(logs);
  const { cut } = counts;
  for await (const id of files.left.owners()) {
    if (!file.hasTask(id)) continue;
    counts.logs++;
    const onCut = () => {
      if (cut.at(-1) !== id && cut.length < MAX_NAMED) cut.push(id);
    };
    for await (const block of movedBlocks(files.of(id), MAX_STEP_BYTES, onCut)) {
      counts.bytes += block.bytes.length;
      yield { task_id: id, ...block };
    }
  }
}
