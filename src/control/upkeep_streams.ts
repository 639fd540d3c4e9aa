/**
 * `svc db` while a daemon runs: works on the daemon's own files and store, and leaves an audit row
 * for each backup.
 *
 * @module
 */

import type { UPKEEP_OPERATIONS } from "../api/upkeep_operations.ts";
import type { DataDir } from "../base/data_dir.ts";
import { AppError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Maintenance } from "../store/maintenance.ts";
import { refuseShared } from "../storage/check_storage.ts";
import {
  backupLines,
  ownCheckLines,
  type UpkeepLines,
  usageLines,
  vacuumLines,
} from "../upkeep/lines.ts";
import type { AuditLog, RecordEnd } from "./records/audit_log.ts";
import type { Handlers } from "./server/server.ts";

/** The files and the store of a daemon. */
export interface UpkeepHost extends AuditLog {
  readonly dirs: DataDir;
  readonly store: Maintenance;
  readonly log: Log;
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
}

/** The handlers, by name of the operation. */
export function upkeepHandlers(host: UpkeepHost): Pick<Handlers, keyof typeof UPKEEP_OPERATIONS> {
  const { dirs, store } = host;
  return {
    async *"db.backup"(input, caller, signal) {
      await refuseShared("db.backup", dirs);
      const audited = { operation: "db.backup", targets: [input.file], caller };
      // A full disk prevents the audit row, and is a good reason for a backup.
      const end = await host.startAudited(audited).catch((error) => {
        const { name, role } = caller;
        host.log.warn("backup without an audit row", {
          file: input.file,
          caller: name,
          role,
          error,
        });
      });
      yield* recorded(until(signal, backupLines(input, dirs, signal)), end ?? nothing);
    },
    async *"db.check"(_input, _caller, signal) {
      yield* until(signal, ownCheckLines({ env: host.env, alone: false }, dirs, signal));
    },
    async *"db.usage"(_input, _caller, signal) {
      yield* until(signal, usageLines({ env: host.env, alone: false }, dirs, signal));
    },
    async *"db.vacuum"(_input, _caller, signal) {
      await refuseShared("db.vacuum", dirs);
      yield* until(signal, vacuumLines(store));
    },
  };
}

function nothing(): Promise<void> {
  return Promise.resolve();
}

/** Records the end of a job before its last line, which the caller may act upon. */
async function* recorded<Result>(
  lines: UpkeepLines<Result>,
  end: RecordEnd,
): UpkeepLines<Result> {
  let failure: unknown = new AppError(
    "refused",
    "The caller left or the daemon stopped before it was done",
  );
  try {
    for await (const line of lines) {
      if ("result" in line) failure = undefined;
      if ("refused" in line) failure = new AppError(line.refused.code, line.refused.message);
      if (!("fraction" in line)) await end(failure);
      yield line;
    }
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    await end(failure); // does nothing if the end is recorded already
  }
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
