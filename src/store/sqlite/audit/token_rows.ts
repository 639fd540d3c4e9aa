/**
 * The table `control_tokens`.
 *
 * @module
 */

import { LAST_TIME_MS } from "../../../base/clock.ts";
import type { ControlToken } from "../../audit_records.ts";
import { toToken } from "../../sql/tokens.ts";
import type { Database } from "../engine/database.ts";

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
