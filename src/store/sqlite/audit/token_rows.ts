/**
 * The table `control_tokens`.
 *
 * @module
 */

import { LAST_TIME_MS } from "../../../base/clock.ts";
import type { ControlToken } from "../../audit_records.ts";
import { number, optionalNumber, text } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";
import type { Row } from "../../sql/row.ts";

/** Stores a token under the hash of its text. */
export function createToken(db: Database, token: ControlToken, hash: string): void {
  db.run(
    "INSERT INTO control_tokens VALUES (?, ?, ?, ?, ?, ?, NULL)",
    token.id,
    hash,
    token.name,
    token.role,
    token.createdAt,
    token.expiresAt,
  );
}

/**
 * Earlier versions accepted times that a number cannot hold; they are read as the last possible
 * time.
 */
const COLUMNS =
  `id, name, role, created_at, min(expires_at, ${LAST_TIME_MS}) AS expires_at, revoked_at`;

/** The token with this hash. */
export function findToken(db: Database, hash: string): ControlToken | undefined {
  const row = db.get(`SELECT ${COLUMNS} FROM control_tokens WHERE hash = ?`, hash);
  return row === undefined ? undefined : toToken(row);
}

/** Tokens, newest first. */
export function listTokens(db: Database): ControlToken[] {
  return db.all(`SELECT ${COLUMNS} FROM control_tokens ORDER BY id DESC`).map(toToken);
}

/** Revokes a token. */
export function revokeToken(db: Database, id: string, now: number): void {
  db.run("UPDATE control_tokens SET revoked_at = COALESCE(revoked_at, ?) WHERE id = ?", now, id);
}

function toToken(row: Row): ControlToken {
  return {
    id: text(row, "id"),
    name: text(row, "name"),
    role: text(row, "role") as ControlToken["role"],
    createdAt: number(row, "created_at"),
    expiresAt: number(row, "expires_at"),
    ...optionalNumber(row, "revoked_at", "revokedAt"),
  };
}
