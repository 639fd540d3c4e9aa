/**
 * `svc db` while a daemon runs (contract 6): the daemon's own files, its own store, and a trace of who
 * took a copy of everything.
 *
 * @module
 */

import type { Backup, Check, UpkeepLine, UpkeepStreams, Vacuum } from "../api/upkeep_operations.ts";
import type { DataDir } from "../base/data_dir.ts";
import type { Log } from "../base/log.ts";
import type { Store } from "../store/store.ts";
import { backupLines, checkLines, type UpkeepLines, vacuumLines } from "../upkeep/lines.ts";
import type { Caller } from "../auth/caller.ts";
import type { StreamHandlers } from "./server/server.ts";

/** What these operations need. */
export interface UpkeepHost {
  /** The data directory. */
  readonly dirs: DataDir;
  /** Its store. */
  readonly store: Store;
  /** The daemon's log. */
  readonly log: Log;
  /** Leaves a trace of an operation. */
  readonly trace: (operation: string, target: string, caller: Caller) => Promise<void>;
}

/** The operations, by name. */
export function upkeepStreams(host: UpkeepHost): Pick<StreamHandlers, keyof UpkeepStreams> {
  const { dirs, store } = host;
  const request = { file: dirs.database, alone: false };
  return {
    async *"db.backup"(input, signal, caller): AsyncGenerator<UpkeepLine<Backup>> {
      // A full disk keeps the trace from being stored, and is a good reason for a backup.
      await host.trace("db.backup", input.file, caller).catch((error) => {
        const { name, role } = caller;
        host.log.warn("backup without a trace", { file: input.file, caller: name, role, error });
      });
      yield* until(signal, backupLines(input, dirs));
    },
    "db.check": (_input, signal): AsyncGenerator<UpkeepLine<Check>> =>
      until(signal, checkLines(request, dirs)),
    "db.vacuum": (_input, signal): AsyncGenerator<UpkeepLine<Vacuum>> =>
      until(signal, vacuumLines(store)),
  };
}

/** Ends early when nobody waits for it any more. */
async function* until<Result>(
  signal: AbortSignal,
  lines: UpkeepLines<Result>,
): UpkeepLines<Result> {
  for await (const line of lines) {
    yield line;
    if (signal.aborted) return;
  }
}
