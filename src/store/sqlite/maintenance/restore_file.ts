/**
 * Prepares a database file for its restore, and the old database for its replacement.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import type { Resource, ResourceKey } from "../../../resources/resource.ts";
import type { ControlEvent, ControlToken } from "../../audit_records.ts";
import { recordControl } from "../../sql/control_audit.ts";
import { refuseOtherSchema } from "../engine/check_schema.ts";
import { Database, fromSqliteError } from "../engine/database.ts";
import { migrate } from "../engine/migrations.ts";
import { READINESS, UNFINISHED } from "../../sql/readiness.ts";
import { changeResources, replaceSealed } from "../resources/resource_rows.ts";
import {
  countPendingMessages,
  keepCounted,
  keepRevocations,
  keepSent,
  newlyValid,
  readFormerRecords,
  resumedTriggers,
  revokeAll,
} from "./since_backup.ts";

/** How open tasks of a copy end. */
export interface CancelOpen {
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Changes to a copy when it is restored. */
export interface RestoreChanges {
  /** The database that it replaces; there may be none. */
  readonly replaces: string;
  /** Resources to leave out. */
  readonly leaveOut: readonly ResourceKey[];
  /** SecretStores whose sealed values take the place of those of the copy. */
  readonly anew: readonly Resource[];
  /** Ends the open tasks of the copy. */
  readonly cancel?: CancelOpen;
  /** Whether every token of the copy is revoked. */
  readonly revokeTokens: boolean;
  /** Row of the restore in the audit. */
  readonly record: ControlEvent;
}

/** Records that came back with a copy, and records that did not. */
export interface RestoreFindings {
  /** Whether the replaced database was there and could be read. */
  readonly compared: boolean;
  /** Tokens that are valid now, and were not in the replaced database. */
  readonly tokens: readonly ControlToken[];
  /** Number of tokens that were valid in the copy and are revoked. */
  readonly revoked: number;
  /** Number of messages that wait to be sent. */
  readonly pendingMessages: number;
  /** Triggers that fire again, as `project/name`. */
  readonly resumed: readonly string[];
  /** The SecretStores of the replaced database, their values sealed. */
  readonly secretStores: readonly Resource[];
}

/** Migrates a copy to this program's schema, and makes the given changes. */
export async function makeReady(
  path: string,
  { replaces, leaveOut, anew, cancel, revokeTokens, record }: RestoreChanges,
): Promise<RestoreFindings> {
  using db = new Database(path);
  refuseOtherSchema(db);
  migrate(db);
  const replaced = readFormerRecords(replaces, db);
  const now = record.createdAt;
  const findings = await db.transaction(async () => {
    changeResources(db, leaveOut.map((key) => ({ op: "delete", key })));
    replaceSealed(db, anew);
    if (cancel !== undefined) cancelOpen(db, cancel);
    let revoked = 0;
    if (replaced !== undefined) {
      revoked += keepRevocations(db, replaced, now);
      keepSent(db, replaced);
      keepCounted(db, replaced);
    }
    if (revokeTokens) revoked += revokeAll(db, now);
    await recordControl(db, record);
    return {
      compared: replaced !== undefined,
      tokens: newlyValid(db, replaced, now),
      revoked,
      pendingMessages: countPendingMessages(db),
      resumed: replaced === undefined ? [] : resumedTriggers(db, replaced),
      secretStores: replaced?.resources.filter(({ kind }) => kind === "SecretStore") ?? [],
    };
  });
  if (!db.foldLog()) throw new AppError("refused", `"${path}" is used by another program`);
  return findings;
}

function cancelOpen(db: Database, { reason, now }: CancelOpen): void {
  db.run(
    `UPDATE steps SET state = 'cancelled', reason = ?, finished_at = ?, process_group = NULL
       WHERE state IN ('pending', 'running', 'waiting')
       AND task_id IN (SELECT id FROM tasks WHERE ${UNFINISHED})`,
    reason,
    now,
  );
  db.run(
    `UPDATE tasks SET state = 'cancelled', reason = ?, finished_at = ?, readiness = ${READINESS.ready}
       WHERE ${UNFINISHED}`,
    reason,
    now,
  );
  db.run("DELETE FROM turns"); // only open tasks have some
  db.run(
    `UPDATE waits SET state = 'over', result = '{"by":"task"}', over_at = ? WHERE state = 'open'`,
    now,
  );
}

/**
 * Folds the write-ahead log into the file, so that the file is complete by itself; `false` when
 * that fails.
 */
export function foldLog(path: string): boolean {
  try {
    using db = new Database(path);
    return db.foldLog();
  } catch (error) {
    if (fromSqliteError(error) instanceof AppError) return false;
    throw error;
  }
}
