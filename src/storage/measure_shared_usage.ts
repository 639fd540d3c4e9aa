/**
 * Measures the database that a data directory shares, for `svc db usage`.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import type { Progress } from "../store/maintenance.ts";
import type { SharedUsage } from "../store/postgres/measure_usage.ts";
import { addressOf, findSharedDatabase } from "./shared_database.ts";

/**
 * Measures it; yields its progress. Gives nothing where the data directory has a database of its own.
 *
 * @throws {AppError} `refused` or `overloaded` when it cannot be connected to.
 */
export async function* measureSharedUsage(
  dir: DataDir,
  env: (name: string) => string | undefined,
): AsyncGenerator<Progress, SharedUsage | undefined, undefined> {
  const shared = findSharedDatabase(dir);
  if (shared === undefined) return undefined;
  const { measureShared } = await import("../store/postgres/measure_usage.ts");
  const owner = { node: shared.node.id, run: "usage" };
  return yield* measureShared({ url: addressOf(shared.url, env), owner, env });
}
