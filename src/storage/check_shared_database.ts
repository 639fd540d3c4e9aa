/**
 * Looks through the database that a data directory shares, for `svc db check`.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import type { Progress } from "../store/maintenance.ts";
import type { SharedCheckFacts } from "../store/postgres/check_database.ts";
import { addressOf, findSharedDatabase } from "./shared_database.ts";

/**
 * Looks through it; yields its progress. Gives nothing where the data directory has a database of
 * its own.
 *
 * @throws {AppError} `refused` or `overloaded` when it cannot be connected to.
 */
export async function* checkShared(
  dir: DataDir,
  env: (name: string) => string | undefined,
): AsyncGenerator<Progress, SharedCheckFacts | undefined, undefined> {
  const shared = findSharedDatabase(dir);
  if (shared === undefined) return undefined;
  const { checkSharedRows } = await import("../store/postgres/check_database.ts");
  const url = addressOf(shared.url, env);
  const owner = { node: shared.node.id, run: "check" };
  return yield* checkSharedRows({ url, owner, env });
}
