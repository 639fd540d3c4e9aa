/**
 * Prepares a database file for its restore, and the old database for its replacement.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import type { ResourceKey } from "../../../resources/resource.ts";
import { refuseOtherSchema } from "../engine/check_schema.ts";
import { Database, fromSqliteError } from "../engine/database.ts";
import { migrate } from "../engine/migrations.ts";
import { WAIT_REASON } from "../../sql/wait_reasons.ts";
import { changeResources } from "../resources/resource_rows.ts";

/** How open tasks of a copy end. */
export interface CancelOpen {
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Changes to a copy when it is restored. */
export interface RestoreChanges {
  /** Resources to leave out. */
  readonly leaveOut: readonly ResourceKey[];
  /** Ends the open tasks of the copy. */
  readonly cancel?: CancelOpen;
}

/** Migrates a copy to this program's schema, and makes the given changes. */
export function makeReady(path: string, { leaveOut, cancel }: RestoreChanges): void {
  using db = new Database(path);
  refuseOtherSchema(db);
  migrate(db);
  db.transaction(() => {
    changeResources(db, leaveOut.map((key) => ({ op: "delete", key })));
    if (cancel !== undefined) cancelOpen(db, cancel);
  });
}

function cancelOpen(db: Database, { reason, now }: CancelOpen): void {
  db.run(
    `UPDATE steps SET state = 'cancelled', reason = ?, finished_at = ?, process_group = NULL
       WHERE state IN ('pending', 'running')
       AND task_id IN (SELECT id FROM tasks WHERE state IN ('pending', 'running'))`,
    ...[reason, now],
  );
  db.run(
    `UPDATE tasks SET state = 'cancelled', reason = ?, finished_at = ?, held = ${WAIT_REASON.none}
       WHERE state IN ('pending', 'running')`,
    ...[reason, now],
  );
}

/**
 * Folds the write-ahead log into the file, so that the file is complete by itself; `false` when
 * that fails.
 */
export function foldLog(path: string): boolean {
  try {
    using db = new Database(path);
    return db.get("PRAGMA wal_checkpoint(TRUNCATE)")?.["busy"] === 0;
  } catch (error) {
    if (fromSqliteError(error) instanceof AppError) return false;
    throw error;
  }
}
