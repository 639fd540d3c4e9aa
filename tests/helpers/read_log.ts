/**
 * The log of a task, read from a byte on.
 *
 * @module
 */

import type { StoredLog } from "../../src/store/log_store.ts";
import { LogReader, type PlacedChunk } from "../../src/tasks/log/log_reader.ts";

/**
 * Reads a log from byte `offset`; returns its chunks and the next offset. Leaves an incomplete
 * line.
 */
export async function readLog(
  stored: StoredLog,
  offset: number,
): Promise<{ chunks: PlacedChunk[]; next: number }> {
  using log = await LogReader.open(stored);
  return log === undefined ? { chunks: [], next: offset } : await log.read(offset);
}
