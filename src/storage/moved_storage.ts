/**
 * The two files of a data directory that say which database it has, at the end of a move to PostgreSQL:
 * `database.url` decides, and the database file keeps another name.
 *
 * @module
 */

import { dirname } from "node:path";
import { type Clock, timeInName } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { isThere, syncDirectory } from "../base/durable_files.ts";
import type { CheckFacts } from "../store/maintenance.ts";
import { foldLog } from "../store/sqlite/maintenance/restore_file.ts";
import {
  addressOf,
  findSharedDatabase,
  type SharedDatabase,
  writeSharedDatabase,
} from "./shared_database.ts";

/** Name of the file after a move, without the time. */
export const MOVED_FILE = ".moved-";

/** Files of a database, the one that counts last. */
const SUFFIXES = ["-shm", "-wal", ""];

/** Has the data directory use this database from now on. */
export const useDatabase = writeSharedDatabase;

/** Gives the database file another name. The caller has the lock. */
export async function renameMoved({ database }: DataDir, clock: Clock): Promise<string> {
  const kept = `${database}${MOVED_FILE}${timeInName(clock.now())}`;
  foldLog(database); // one file is easier to keep than three
  for (const suffix of SUFFIXES) {
    if (await isThere(database + suffix)) await Deno.rename(database + suffix, kept + suffix);
  }
  await syncDirectory(dirname(database));
  return kept;
}

/** A move that was killed after `database.url` was written. */
export interface UnfinishedRenaming {
  readonly database: SharedDatabase;
  /** Whether the file still has its name. */
  readonly hasFile: boolean;
}

/** Finds a data directory that has moved already. */
export async function findMoved(dir: DataDir): Promise<UnfinishedRenaming | undefined> {
  const database = findSharedDatabase(dir);
  return database && { database, hasFile: await isThere(dir.database) };
}

/** Opens the target of a move. Loaded late, as everything of PostgreSQL. */
export async function openTarget(
  { url, node }: Pick<SharedDatabase, "url"> & { readonly node: string },
  { env, clock, keyId }: {
    readonly env: (name: string) => string | undefined;
    readonly clock: Clock;
    readonly keyId: string;
  },
) {
  const { MoveTarget } = await import("../store/postgres/moving/move_target.ts");
  const owner = { node, run: "move" };
  return await MoveTarget.open({ url: addressOf(url, env), owner, env, clock, keyId });
}

/** Checks the target as `svc db check` does. */
export async function checkTarget(
  { url, node, env }: {
    readonly url: string;
    readonly node: string;
    readonly env: (name: string) => string | undefined;
  },
): Promise<CheckFacts> {
  const { checkSharedRows } = await import("../store/postgres/check_database.ts");
  const checking = checkSharedRows({ url: addressOf(url, env), owner: { node, run: "move" }, env });
  for (;;) {
    const step = await checking.next();
    if (step.done === true) return step.value;
  }
}
