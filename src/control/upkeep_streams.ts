/**
 * `svc db` while a daemon runs: works on the daemon's own files and store, and leaves an audit row
 * for each backup.
 *
 * @module
 */

import type { UPKEEP_OPERATIONS } from "../api/upkeep_operations.ts";
import type { DataDir } from "../base/data_dir.ts";
import type { Log } from "../base/log.ts";
import type { Maintenance } from "../store/maintenance.ts";
import { backupLines, checkLines, type UpkeepLines, vacuumLines } from "../upkeep/lines.ts";
import type { Caller } from "../auth/caller.ts";
import type { Handlers } from "./server/server.ts";

/** What these operations need. */
export interface UpkeepHost {
  readonly dirs: DataDir;
  readonly store: Maintenance;
  readonly log: Log;
  /** Records an operation in the audit before it is carried out. */
  readonly audit: (operation: string, target: string, caller: Caller) => Promise<void>;
}

/** The handlers, by name of the operation. */
export function upkeepHandlers(host: UpkeepHost): Pick<Handlers, keyof typeof UPKEEP_OPERATIONS> {
  const { dirs, store } = host;
  const request = { file: dirs.database, alone: false };
  return {
    async *"db.backup"(input, caller, signal) {
      // A full disk prevents the audit row, and is a good reason for a backup.
      await host.audit("db.backup", input.file, caller).catch((error) => {
        const { name, role } = caller;
        host.log.warn("backup without an audit row", {
          file: input.file,
          caller: name,
          role,
          error,
        });
      });
      yield* until(signal, backupLines(input, dirs));
    },
    "db.check": (_input, _caller, signal) => until(signal, checkLines(request, dirs)),
    "db.vacuum": (_input, _caller, signal) => until(signal, vacuumLines(store)),
  };
}

/** Ends early when the client has disconnected. */
async function* until<Result>(
  signal: AbortSignal,
  lines: UpkeepLines<Result>,
): UpkeepLines<Result> {
  for await (const line of lines) {
    yield line;
    if (signal.aborted) return;
  }
}
