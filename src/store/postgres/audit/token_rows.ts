/**
 * The table `control_tokens`.
 *
 * @module
 */

import type { ControlToken } from "../../audit_records.ts";
import { toToken } from "../../sql/tokens.ts";
import type { Session } from "../database/connections.ts";

/** Stores a token under the hash of its text. */
export async function createToken(db: Session, token: ControlToken, hash: string): Promise<void> {
  await db.run(
    "INSERT INTO control_tokens VALUES (?, ?, ?, ?, ?, ?, NULL)",
    token.id,
    hash,
    token.name,
    token.role,
    token.createdAt,
    token.expiresAt,
  );
}

/** The token with this hash. */
export async function findToken(db: Session, hash: string): Promise<ControlToken | undefined> {
  const row = await db.get("SELECT * FROM control_tokens WHERE hash = ?", hash);
  return row === undefined ? undefined : toToken(row);
}

/** Tokens, newest first. */
export async function listTokens(db: Session): Promise<ControlToken[]> {
  return (await db.all("SELECT * FROM control_tokens ORDER BY id DESC")).map(toToken);
}

/** Revokes a token. */
export async function revokeToken(db: Session, id: string, now: number): Promise<void> {
  await db.run(
    "UPDATE control_tokens SET revoked_at = COALESCE(revoked_at, ?) WHERE id = ?",
    now,
    id,
  );
}
