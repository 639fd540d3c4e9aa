/**
 * Reads the whole database that a data directory shares: for `svc db check` and `svc db usage`.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import type { Progress } from "../store/maintenance.ts";
import type { SharedCheckFacts } from "../store/postgres/check_database.ts";
import type { SharedUsage } from "../store/postgres/measure_usage.ts";
import { addressOf, findSharedDatabase } from "./shared_database.ts";

/**
 * Checks it, and yields the progress; `undefined` if the data directory has a database of its own.
 *
 * @throws {AppError} `refused` or `overloaded` when it cannot be connected to.
 */
export async function* checkShared(
  dir: DataDir,
  env: (name: string) => string | undefined,
): AsyncGenerator<Progress, SharedCheckFacts | undefined, undefined> {
  const connection = connectionTo(dir, env, "check");
  if (connection === undefined) return undefined;
  const { checkSharedRows } = await import("../store/postgres/check_database.ts");
  return yield* checkSharedRows(connection);
}

/**
 * Measures it, and yields the progress; `undefined` if the data directory has a database of its own.
 *
 * @throws {AppError} `refused` or `overloaded` when it cannot be connected to.
 */
export async function* measureSharedUsage(
  dir: DataDir,
  env: (name: string) => string | undefined,
): AsyncGenerator<Progress, SharedUsage | undefined, undefined> {
  const connection = connectionTo(dir, env, "usage");
  if (connection === undefined) return undefined;
  const { measureShared } = await import("../store/postgres/measure_usage.ts");
  return yield* measureShared(connection);
}

function connectionTo(dir: DataDir, env: (name: string) => string | undefined, run: string) {
  const shared = findSharedDatabase(dir);
  if (shared === undefined) return undefined;
  return { url: addressOf(shared.url, env), owner: { node: shared.node.id, run }, env };
}
