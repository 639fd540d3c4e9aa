/**
 * What happens to a database file before it takes the place of another one, and to that other one.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import type { ResourceKey } from "../../../resources/resource.ts";
import { Database, fromSqliteError } from "../engine/database.ts";
import { migrate } from "../engine/migrations.ts";
import { WAIT_REASON } from "../engine/wait_reasons.ts";
import { changeResources } from "../resources/resource_rows.ts";

/** How tasks of a copy end that waited or ran when it was made. */
export interface CancelOpen {
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What is different in a copy once it is restored. */
export interface RestoreChanges {
  /** Resources that are left out. */
  readonly leaveOut: readonly ResourceKey[];
  /** Ends its open tasks. */
  readonly cancel?: CancelOpen;
}

/** Brings a copy up to this program's schema, and makes these changes. */
export function makeReady(path: string, { leaveOut, cancel }: RestoreChanges): void {
  using db = new Database(path);
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
 * Folds the log into the file, so that the file alone is all of it; `false` when that cannot be
 * done.
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
