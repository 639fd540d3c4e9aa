/**
 * The unfinished tasks of a group (`concurrency`), in the table `tasks`.
 *
 * @module
 */

import type { ReplaceableTask } from "../../rules/event_outcome.ts";
import type { GroupLimit } from "../../rules/limits.ts";
import { text } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";
import { IN_GROUP } from "./queue_rows.ts";

/** Ids of the unfinished tasks, at most as many as the limit. */
export function findUnfinished(db: Database, { digest, max }: GroupLimit): string[] {
  const rows = db.all(`SELECT id FROM ${IN_GROUP} LIMIT ?`, digest, max);
  return rows.map((row) => text(row, "id"));
}

/** Unfinished tasks that are not being cancelled. */
export function findReplaceable(db: Database, { digest }: GroupLimit): ReplaceableTask[] {
  return db.all(
    `SELECT id, started_at IS NOT NULL AS has_started FROM ${IN_GROUP} AND cancel_reason IS NULL`,
    digest,
  ).map((row) => ({ id: text(row, "id"), hasStarted: row["has_started"] === 1 }));
}
