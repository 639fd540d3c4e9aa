/**
 * A look at the database of a data directory, whichever it has.
 *
 * @module
 */

import type { WallClock } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import type { Glance } from "../store/maintenance.ts";
import { SCHEMA_VERSION } from "../store/sqlite/engine/migrations.ts";
import { glanceAtWholeFile } from "../store/sqlite/maintenance/run_job.ts";
import { addressOf, findSharedDatabase } from "./shared_database.ts";

/** The findings of a look at a database. */
export interface DatabaseGlance extends Glance {
  /** Its path; for a shared one, its place in words. */
  readonly database: string;
}

/** How {@linkcode glanceAtDatabase} looks. */
export interface GlanceOptions {
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
  readonly clock: WallClock;
  /** Whether no other process uses a database in a file meanwhile. */
  readonly alone: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Looks at the database, and only reads.
 *
 * @throws {AppError} `refused` or `overloaded` when it is shared and cannot be used or connected to.
 */
export async function glanceAtDatabase(
  dir: DataDir,
  { env, clock, alone, signal }: GlanceOptions,
): Promise<DatabaseGlance> {
  const shared = findSharedDatabase(dir);
  if (shared === undefined) {
    const seen = await glanceAtWholeFile(dir.database, alone, signal);
    return { ...ofNewer(seen, SCHEMA_VERSION), database: dir.database };
  }
  const { glanceAtShared } = await import("../store/postgres/glance.ts");
  const { SCHEMA_VERSION: newest } = await import("../store/postgres/database/migrations.ts");
  const owner = { node: shared.node.id, run: "doctor" };
  const url = addressOf(shared.url, env);
  const seen = await glanceAtShared({ url, owner, env }, clock);
  return { ...ofNewer(seen, newest), database: seen.database };
}

/** Adds a fault if a newer svc has written the database. */
function ofNewer(seen: Glance, known: number): Glance {
  if (seen.schemaVersion <= known) return seen;
  const fault = `It was written by a newer svc (schema ${seen.schemaVersion}, this one knows ` +
    `${known}): install that version`;
  return { ...seen, faults: [...seen.faults, fault] };
}
