/**
 * The logs of tasks over PostgreSQL: what several tasks print at once is stored in one statement.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { LogStore } from "../log_store.ts";
import type { Connections } from "./database/connections.ts";
import { Batcher } from "./batcher.ts";
import { addBlocks, type NewBlocks } from "./logs/log_rows.ts";
import { PostgresLogs } from "./logs/postgres_logs.ts";
import type { Claims } from "./tasks/claims.ts";

/** Options of the logs. */
export interface LogOptions {
  readonly clock: Clock;
  /** Most bytes that are kept of the output of one step; 8 MiB when absent. */
  readonly maxStepLogBytes?: number | undefined;
}

/** A limit lower than that of files: what is kept here is in each backup, too. */
const MAX_STEP_LOG_BYTES = 8 * 1024 * 1024;

/** Opens the logs of a database; the worker writes those of the tasks that it has claimed. */
export function openLogs(
  { connections, claims }: { readonly connections: Connections; readonly claims: Claims },
  { clock, maxStepLogBytes = MAX_STEP_LOG_BYTES }: LogOptions,
): LogStore {
  const batcher = new Batcher(async (given: readonly NewBlocks[]) => {
    try {
      const added = await connections.use((db) => addBlocks(db, given));
      return added.map((value) => ({ value }));
    } catch (error) {
      return given.map(() => ({ error }));
    }
  });
  const add = async (blocks: NewBlocks) => await batcher.call(blocks) === true;
  return new PostgresLogs({
    connections,
    clock,
    epochOf: (taskId) => claims.epochOf(taskId),
    add,
    maxStepBytes: maxStepLogBytes,
  });
}
