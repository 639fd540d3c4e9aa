/**
 * Measures the database. PostgreSQL uses the space of removed rows again by itself (autovacuum).
 *
 * @module
 */

import type { DatabaseSize } from "../../maintenance.ts";
import { number } from "../../sql/columns.ts";
import type { Session } from "./connections.ts";

/** Size of the whole database. */
export async function databaseSize(db: Session): Promise<DatabaseSize> {
  const row = await db.get("SELECT pg_database_size(current_database()) AS bytes");
  return { bytes: number(row ?? {}, "bytes"), unusedBytes: 0, reclaimable: false };
}
