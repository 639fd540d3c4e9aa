/**
 * Opens the storage of a daemon: a file in its data directory, or a PostgreSQL that several daemons
 * share. The code for PostgreSQL is loaded only if it is used.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import { LogFiles } from "../store/files/log_files.ts";
import { ENDLESS } from "../store/lease.ts";
import { openStore } from "../store/sqlite/open_store.ts";
import { copyBeforeMigration } from "./copy_before_migration.ts";
import { findSharedDatabase } from "./shared_database.ts";
import type { Storage, StorageOptions } from "./storage.ts";

/**
 * Opens the storage of a data directory, which has to be locked.
 *
 * @throws {AppError} `refused` when it cannot be used, `overloaded` when it cannot be reached now.
 */
export async function openStorage(dir: DataDir, options: StorageOptions): Promise<Storage> {
  const { run, clock, maxStepLogBytes, onNote, onBatch = () => {} } = options;
  const shared = findSharedDatabase(dir);
  if (shared === undefined) {
    await copyBeforeMigration(dir, { clock, onNote });
    const store = await openStore(dir.database, {
      node: run,
      self: { name: Deno.hostname() || "localhost", startedAt: clock.now() },
      onBatch,
    });
    return {
      store,
      logs: new LogFiles(dir.logs, maxStepLogBytes),
      lease: ENDLESS,
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    };
  }
  const { openSharedStorage } = await import("./shared_storage.ts");
  return await openSharedStorage(shared, dir, options);
}
