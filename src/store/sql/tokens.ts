/**
 * Rows of the table `control_tokens` as tokens.
 *
 * @module
 */

import type { ControlToken } from "../audit_records.ts";
import { number, optionalNumber, text } from "./columns.ts";
import type { Row } from "./row.ts";

/** A token, without the hash of its text. */
export function toToken(row: Row): ControlToken {
  return {
    id: text(row, "id"),
    name: text(row, "name"),
    role: text(row, "role") as ControlToken["role"],
    createdAt: number(row, "created_at"),
    expiresAt: number(row, "expires_at"),
    ...optionalNumber(row, "revoked_at", "revokedAt"),
  };
}
