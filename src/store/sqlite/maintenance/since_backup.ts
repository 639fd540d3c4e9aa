/**
 * What the database that a restore replaces knows, and a backup made before cannot: tokens that were
 * revoked since, messages that were sent since, and what else would come back unnoticed.
 *
 * @module
 */

import type { Resource } from "../../../resources/resource.ts";
import type { TriggerSpec } from "../../../resources/trigger.ts";
import type { ControlToken } from "../../audit_records.ts";
import { number, text } from "../../sql/columns.ts";
import type { Row } from "../../sql/row.ts";
import { TOKEN_COLUMNS, toToken } from "../../sql/tokens.ts";
import { Database } from "../engine/database.ts";
import { isOpenable } from "../engine/check_version.ts";
import { loadResources } from "../resources/resource_rows.ts";

/** A token with the hash of its text. */
interface HashedToken extends ControlToken {
  readonly hash: string;
}

/** The records of the replaced database that the copy may lack. */
export interface FormerRecords {
  readonly tokens: readonly HashedToken[];
  readonly resources: readonly Resource[];
  /** Messages that wait in the copy and have gone further here, as rows. */
  readonly messages: readonly Row[];
  /** What tasks have stored against their limits, as rows. */
  readonly outputs: readonly Row[];
}

/**
 * Reads the database that is going to be replaced, for the messages that wait in its copy;
 * `undefined` when there is none or it cannot be read, as one that is being replaced may be.
 */
export function readFormerRecords(
  path: string,
  copy: Database,
): FormerRecords | undefined {
  if (!isOpenable(path)) return undefined;
  try {
    using db = new Database(path, { readOnly: true });
    return {
      tokens: tokensOf(db),
      resources: loadResources(db),
      messages: messagesOf(db, copy),
      outputs: hasTable(db, "outputs") ? db.all("SELECT * FROM outputs") : [],
    };
  } catch {
    return undefined;
  }
}

/** Those messages that wait or are held in the copy and are over in `db`, or were tried there. */
function messagesOf(db: Database, copy: Database): Row[] {
  if (!hasTable(db, "outbox")) return [];
  return copy.all("SELECT id, state FROM outbox WHERE state IN ('held', 'pending')").flatMap(
    ({ id, state }) =>
      db.all(
        "SELECT * FROM outbox WHERE id = ? AND (tries > 0 OR state <> ?)",
        id ?? null,
        state ?? null,
      ),
  );
}

/** Whether a database has a table: one of an earlier version lacks some. */
function hasTable(db: Database, name: string): boolean {
  return db.get("SELECT 1 FROM sqlite_schema WHERE name = ?", name) !== undefined;
}

function tokensOf(db: Database): HashedToken[] {
  const columns = db.all("SELECT name FROM pragma_table_info('control_tokens')")
    .map((row) => text(row, "name"));
  // an earlier version has neither, or no gateways
  const added = Object.entries({ person: "NULL", gateway: "0" })
    .filter(([name]) => !columns.includes(name))
    .map(([name, value]) => `, ${value} AS ${name}`);
  const table = `(SELECT *${added.join("")} FROM control_tokens)`;
  return db.all(`SELECT hash, ${TOKEN_COLUMNS} FROM ${table} ORDER BY id`)
    .map((row) => ({ ...toToken(row), hash: text(row, "hash") }));
}

/**
 * Revokes in the copy what was revoked in the database it replaces, by id and by hash, and keeps
 * those revocations for a later restore of another copy. Returns how many valid tokens that were.
 */
export function keepRevocations(copy: Database, replaced: FormerRecords, now: number): number {
  const before = validTokens(copy, now).length;
  for (const { id, hash, name, role, createdAt, expiresAt, revokedAt } of replaced.tokens) {
    if (revokedAt === undefined) continue;
    copy.run(
      "UPDATE control_tokens SET revoked_at = COALESCE(revoked_at, ?) WHERE id = ? OR hash = ?",
      revokedAt,
      id,
      hash,
    );
    copy.run(
      `INSERT OR IGNORE INTO control_tokens
       (id, hash, name, role, created_at, expires_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
      id,
      hash,
      name,
      role,
      createdAt,
      expiresAt,
      revokedAt,
    );
  }
  return before - validTokens(copy, now).length;
}

/** Revokes every token of the copy; returns how many were valid. */
export function revokeAll(copy: Database, now: number): number {
  const count = validTokens(copy, now).length;
  copy.run("UPDATE control_tokens SET revoked_at = COALESCE(revoked_at, ?)", now);
  return count;
}

/**
 * Tokens that are valid in the copy, and were not as they are in the database it replaces: unknown
 * there, or of another text, role or end.
 */
export function newlyValid(
  copy: Database,
  replaced: FormerRecords | undefined,
  now: number,
): ControlToken[] {
  const known = new Set(replaced?.tokens.filter((token) => isValid(token, now)).map(identityOf));
  return validTokens(copy, now).filter((token) => !known.has(identityOf(token)))
    .map(({ hash: _, ...token }) => token);
}

function validTokens(db: Database, now: number): HashedToken[] {
  return tokensOf(db).filter((token) => isValid(token, now));
}

function isValid({ revokedAt, expiresAt }: ControlToken, now: number): boolean {
  return revokedAt === undefined && expiresAt > now;
}

function identityOf({ id, hash, name, role, person, gateway, expiresAt }: HashedToken): string {
  return JSON.stringify([id, hash, name, role, person, gateway, expiresAt]);
}

/** Takes over how far messages have come that wait in the copy, so that none is sent twice. */
export function keepSent(copy: Database, { messages }: FormerRecords): void {
  for (const row of messages) {
    copy.run(
      `UPDATE outbox SET state = ?, tries = ?, next_at = ?, uncertain_since = ?, first_tried_at = ?,
         external_id = ?, reason = ?, updated_at = ? WHERE id = ?`,
      ...["state", "tries", "next_at", "uncertain_since", "first_tried_at"].concat(
        ["external_id", "reason", "updated_at", "id"],
      ).map((column) => row[column] ?? null),
    );
    if (row["state"] === "sent" || row["state"] === "dropped") {
      copy.run("DELETE FROM outbox_content WHERE message_id = ?", text(row, "id"));
    }
  }
}

/** Counts in the copy what its tasks have stored since, so that none passes its limits by a restore. */
export function keepCounted(copy: Database, { outputs }: FormerRecords): void {
  const columns = ["task_id", "output", "unit", "created_at", "place", "number", "round"];
  for (const row of outputs) {
    copy.run(
      `INSERT OR IGNORE INTO outputs (${columns.join(", ")}) SELECT ?, ?, ?, ?, ?, ?, ?
       WHERE EXISTS (SELECT 1 FROM tasks WHERE id = ?)`,
      ...[...columns, "task_id"].map((column) => row[column] ?? null),
    );
  }
}

/** Number of messages that wait in the copy. */
export function countPendingMessages(copy: Database): number {
  const row = copy.get("SELECT count(*) AS n FROM outbox WHERE state = 'pending'");
  return number(row ?? { n: 0 }, "n");
}

/** Triggers that are active in the copy, and were suspended or gone in what it replaces. */
export function resumedTriggers(copy: Database, { resources }: FormerRecords): string[] {
  const active = activeTriggers(resources);
  return activeTriggers(loadResources(copy)).filter((name) => !active.includes(name));
}

function activeTriggers(resources: readonly Resource[]): string[] {
  return resources
    .filter(({ kind, spec }) => kind === "Trigger" && (spec as TriggerSpec).suspend !== true)
    .map(({ project, name }) => `${project}/${name}`);
}
