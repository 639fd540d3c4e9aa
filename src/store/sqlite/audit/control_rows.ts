/**
 * The table `control_audit`: admin work, secrets that were read, and refusals.
 *
 * @module
 */

import { rfc3339 } from "../../../base/clock.ts";
import type { ControlEvent } from "../../audit_records.ts";
import type { ListQuery } from "../../list_query.ts";
import { text } from "../engine/columns.ts";
import type { Database } from "../engine/database.ts";
import { oldestIdSince, where } from "../engine/queries.ts";

/**
 * Rows kept for each caller and result, so that frequent operations of one caller do not push out
 * the rows of others.
 */
const MAX_ROWS = 20_000;

/** Stores one operation, and removes the oldest rows of the same caller and result. */
export function recordControl(db: Database, event: ControlEvent): void {
  db.run(
    "INSERT INTO control_audit VALUES (?, ?, ?, ?, ?, ?, ?)",
    event.id,
    rfc3339(event.createdAt),
    event.operation,
    event.target,
    event.caller,
    event.role,
    event.result,
  );
  db.run(
    `DELETE FROM control_audit WHERE caller = ?1 AND result = ?2 AND rowid <=
      (SELECT rowid FROM control_audit WHERE caller = ?1 AND result = ?2
        ORDER BY rowid DESC LIMIT 1 OFFSET ?3)`,
    event.caller,
    event.result,
    MAX_ROWS,
  );
}

/** Operations, newest first. */
export function listControl(db: Database, query: ListQuery): ControlEvent[] {
  const { clause, values } = where({
    "created_at >= ?": query.since === undefined ? undefined : rfc3339(query.since),
    "id >= ?": query.since === undefined ? undefined : oldestIdSince(query.since),
  });
  return db.all(
    `SELECT * FROM control_audit ${clause} ORDER BY id DESC LIMIT ?`,
    ...values,
    query.limit,
  ).map((row) => ({
    id: text(row, "id"),
    createdAt: Date.parse(text(row, "created_at")),
    operation: text(row, "operation"),
    target: text(row, "target"),
    caller: text(row, "caller"),
    role: text(row, "role"),
    result: text(row, "result") as ControlEvent["result"],
  }));
}
