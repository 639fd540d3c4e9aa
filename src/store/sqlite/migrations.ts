/**
 * The schema, as append-only steps: `user_version` counts those a file has been through. A step that
 * was ever released is never edited.
 *
 * @module
 */

import { AppError, messageOf } from "../../base/errors.ts";
import { Database } from "./database.ts";

const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE resources (
    kind TEXT NOT NULL, project TEXT NOT NULL, name TEXT NOT NULL,
    metadata TEXT NOT NULL, spec TEXT NOT NULL, generation INTEGER NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    PRIMARY KEY (kind, project, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE deliveries (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL, "trigger" TEXT NOT NULL, source TEXT NOT NULL,
    received_at INTEGER NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL,
    status INTEGER NOT NULL, remote TEXT NOT NULL,
    secret_store TEXT NOT NULL, secret_key TEXT NOT NULL, task_id TEXT NOT NULL,
    body_bytes INTEGER NOT NULL, duration_ms INTEGER NOT NULL, detail TEXT NOT NULL,
    headers TEXT, body BLOB
  ) STRICT;
  CREATE INDEX deliveries_of_trigger ON deliveries (project, "trigger", id);
  CREATE INDEX deliveries_rejected ON deliveries (project, "trigger", id) WHERE outcome = 'rejected';

  CREATE TABLE dedup_keys (
    position INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE,
    delivery_id TEXT NOT NULL, task_id TEXT NOT NULL, created_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE key_uses (
    project TEXT NOT NULL, store TEXT NOT NULL, key TEXT NOT NULL, "trigger" TEXT NOT NULL,
    count INTEGER NOT NULL, last_at INTEGER NOT NULL,
    PRIMARY KEY (project, store, key, "trigger")
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE plugin_audit (
    id TEXT NOT NULL PRIMARY KEY, created_at TEXT NOT NULL, finished_at TEXT,
    action TEXT NOT NULL, crd_kind TEXT NOT NULL, plugin_name TEXT NOT NULL, command TEXT NOT NULL,
    result TEXT NOT NULL, plugin_type TEXT NOT NULL, phase TEXT NOT NULL,
    "trigger" TEXT NOT NULL, delivery_id TEXT NOT NULL, exit_code INTEGER, duration_ms INTEGER,
    stderr TEXT NOT NULL, role TEXT NOT NULL, policy_mode TEXT NOT NULL
  ) STRICT;
  CREATE INDEX plugin_audit_by_time ON plugin_audit (created_at);
  CREATE INDEX plugin_audit_running ON plugin_audit (id) WHERE result = 'running';
  CREATE TABLE plugin_audit_chain (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    audit_id TEXT NOT NULL, link TEXT NOT NULL, hash TEXT NOT NULL
  ) STRICT;
  CREATE INDEX plugin_audit_chain_of_row ON plugin_audit_chain (audit_id);

  CREATE TABLE control_audit (
    id TEXT NOT NULL PRIMARY KEY, created_at TEXT NOT NULL, operation TEXT NOT NULL,
    target TEXT NOT NULL, caller TEXT NOT NULL, role TEXT NOT NULL, result TEXT NOT NULL
  ) STRICT;

  CREATE TABLE control_tokens (
    id TEXT NOT NULL PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, role TEXT NOT NULL,
    created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, revoked_at INTEGER
  ) STRICT;

  CREATE TABLE plans (
    hash TEXT NOT NULL PRIMARY KEY, plan TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE tasks (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL, "trigger" TEXT NOT NULL, workflow TEXT NOT NULL, workspace TEXT NOT NULL,
    state TEXT NOT NULL, reason TEXT NOT NULL, delivery_id TEXT NOT NULL, plan_hash TEXT,
    payload BLOB, created_at INTEGER NOT NULL, started_at INTEGER, finished_at INTEGER,
    restarts INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX tasks_of_trigger ON tasks (project, "trigger", id);
  CREATE INDEX tasks_pending ON tasks (id) WHERE state = 'pending';
  CREATE INDEX tasks_running ON tasks (id) WHERE state = 'running';

  CREATE TABLE steps (
    task_id TEXT NOT NULL, position INTEGER NOT NULL, id TEXT NOT NULL,
    state TEXT NOT NULL, exit_code INTEGER, reason TEXT NOT NULL,
    started_at INTEGER, finished_at INTEGER, process_group INTEGER,
    PRIMARY KEY (task_id, position)
  ) STRICT, WITHOUT ROWID;
  `,
];

/** The version of the schema this program writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** Brings the open database up to {@linkcode SCHEMA_VERSION}, each step in one transaction. */
export function migrate(db: Database): void {
  for (let version = versionOf(db); version < SCHEMA_VERSION; version++) {
    db.transaction(() => {
      if (versionOf(db) !== version) return; // another process was quicker
      db.exec(MIGRATIONS[version] ?? "");
      db.exec(`PRAGMA user_version = ${version + 1}`);
    });
  }
}

/**
 * Refuses a database this program must not touch. Changes nothing, and leaves no file behind.
 *
 * @returns Its version; 0 when it was never finished.
 * @throws {AppError} `refused` when the file is damaged or written by a newer version.
 */
export function checkVersion(path: string): number {
  const version = readVersion(path);
  if (version <= SCHEMA_VERSION) return version;
  throw new AppError(
    "refused",
    `The database "${path}" was written by a newer svc (schema ${version}, this one knows ${SCHEMA_VERSION}): install that version`,
  );
}

/**
 * The same for a database that is to be used, not made.
 *
 * @throws {AppError} `refused`, also when it was never finished.
 */
export function checkDatabase(path: string): void {
  if (checkVersion(path) > 0) return;
  throw new AppError("refused", `The database "${path}" is empty: run "svc init"`);
}

/** Even a reader makes files beside the database; those that were not there before go again. */
function readVersion(path: string): number {
  const beside = [`${path}-shm`, `${path}-wal`].filter((file) => !isThere(file));
  try {
    using db = new Database(path, { readOnly: true });
    db.get("SELECT count(*) FROM sqlite_schema");
    return versionOf(db);
  } catch (cause) {
    throw new AppError(
      "refused",
      `The database "${path}" cannot be read (${
        messageOf(cause)
      }): restore it from a backup, or move it away and run "svc init"`,
      { cause },
    );
  } finally {
    for (const file of beside) if (isThere(file)) Deno.removeSync(file);
  }
}

function isThere(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

function versionOf(db: Database): number {
  return Number(db.get("PRAGMA user_version")?.["user_version"] ?? 0);
}
