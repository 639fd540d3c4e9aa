/**
 * Several statements over the same state of the database.
 *
 * @module
 */

import type { Session } from "./connections.ts";

/** Runs `work`, which only reads, on the rows as they were when it began. */
export async function inSnapshot<T>(db: Session, work: () => Promise<T>): Promise<T> {
  await db.exec("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  try {
    return await work();
  } finally {
    await db.exec("ROLLBACK");
  }
}
