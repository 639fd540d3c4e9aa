/**
 * The table `control_tokens`, in both databases.
 *
 * @module
 */

import { LAST_TIME_MS } from "../../base/clock.ts";
import type { ControlToken } from "../audit_records.ts";
import { number, optionalNumber, text } from "./columns.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";

/** Stores a token under the hash of its text. */
export async function createToken(
  db: SqlSession,
  token: ControlToken,
  hash: string,
): Promise<void> {
  await db.run(
    `INSERT INTO control_tokens (id, hash, name, role, created_at, expires_at, person, gateway)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    token.id,
    hash,
    token.name,
    token.role,
    token.createdAt,
    token.expiresAt,
    token.person ?? null,
    token.gateway === true ? 1 : 0,
  );
}

/**
 * Earlier versions accepted times that a number cannot hold; they are read as the last possible
 * time.
 */
export const TOKEN_COLUMNS = `id, name, role, person, gateway, created_at, revoked_at,
  CASE WHEN expires_at > ${LAST_TIME_MS} THEN ${LAST_TIME_MS} ELSE expires_at END AS expires_at`;

/** The token with this hash. */
export async function findToken(db: SqlSession, hash: string): Promise<ControlToken | undefined> {
  const row = await db.get(`SELECT ${TOKEN_COLUMNS} FROM control_tokens WHERE hash = ?`, hash);
  return row === undefined ? undefined : toToken(row);
}

/** Tokens, newest first. */
export async function listTokens(db: SqlSession): Promise<ControlToken[]> {
  const rows = await db.all(`SELECT ${TOKEN_COLUMNS} FROM control_tokens ORDER BY id DESC`);
  return rows.map(toToken);
}

/** Revokes a token; the first time stays. */
export async function revokeToken(db: SqlSession, id: string, now: number): Promise<void> {
  await db.run(
    "UPDATE control_tokens SET revoked_at = COALESCE(revoked_at, ?) WHERE id = ?",
    now,
    id,
  );
}

/** A token, without the hash of its text. */
export function toToken(row: Row): ControlToken {
  return {
    id: text(row, "id"),
    name: text(row, "name"),
    role: text(row, "role") as ControlToken["role"],
    ...row["person"] === null ? {} : { person: text(row, "person") },
    ...number(row, "gateway") === 1 ? { gateway: true } : {},
    createdAt: number(row, "created_at"),
    expiresAt: number(row, "expires_at"),
    ...optionalNumber(row, "revoked_at", "revokedAt"),
  };
}
