/**
 * The table `control_audit`: admin work, secrets that were read, and refusals.
 *
 * @module
 */

import { rfc3339 } from "../../../base/clock.ts";
import type { ControlEnd, ControlEvent } from "../../audit_records.ts";
import type { ListQuery } from "../../list_query.ts";
import { storable, text } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";
import type { Row } from "../../sql/row.ts";
import { ordered, textRange, where } from "../../sql/queries.ts";

/**
 * Rows kept for each caller and result, so that frequent operations of one caller do not push out
 * the rows of others.
 */
const MAX_ROWS = 20_000;

/** Stores one operation, and removes the oldest rows of the same caller and result. */
export function recordControl(db: Database, event: ControlEvent): void {
  db.run(
    `INSERT INTO control_audit
       (id, created_at, operation, target, caller, role, result, reason, finished_at, client)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    event.id,
    rfc3339(event.createdAt),
    event.operation,
    event.target,
    event.caller,
    event.role,
    event.result,
    storable(event.reason),
    event.finishedAt === undefined ? null : rfc3339(event.finishedAt),
    event.client ?? null,
  );
  removeSurplus(db, event);
}

/** Stores the end of an operation that is `started`; any other stays as it is. */
export function finishControl(db: Database, id: string, end: ControlEnd): void {
  const row = db.get("SELECT caller FROM control_audit WHERE id = ? AND result = 'started'", id);
  if (row === undefined) return;
  db.run(
    "UPDATE control_audit SET result = ?, reason = ?, finished_at = ? WHERE id = ?",
    end.result,
    storable(end.reason),
    rfc3339(end.finishedAt),
    id,
  );
  removeSurplus(db, { caller: text(row, "caller"), result: end.result });
}

function removeSurplus(
  db: Database,
  { caller, result }: Pick<ControlEvent, "caller" | "result">,
): void {
  db.run(
    `DELETE FROM control_audit WHERE caller = ?1 AND result = ?2 AND rowid <=
      (SELECT rowid FROM control_audit WHERE caller = ?1 AND result = ?2
        ORDER BY rowid DESC LIMIT 1 OFFSET ?3)`,
    caller,
    result,
    MAX_ROWS,
  );
}

/** Operations, in the order of the list. */
export function listControl(db: Database, query: ListQuery): ControlEvent[] {
  const { clause, values } = where(textRange(query, "created_at"));
  return db.all(
    `SELECT * FROM control_audit ${clause} ${ordered(query)} LIMIT ?`,
    ...values,
    query.limit,
  ).map(toControlEvent);
}

function toControlEvent(row: Row): ControlEvent {
  const finished = row["finished_at"];
  return {
    id: text(row, "id"),
    createdAt: Date.parse(text(row, "created_at")),
    operation: text(row, "operation"),
    target: text(row, "target"),
    caller: text(row, "caller"),
    ...(row["client"] === null ? {} : { client: text(row, "client") }),
    role: text(row, "role"),
    result: text(row, "result") as ControlEvent["result"],
    reason: text(row, "reason"),
    ...(typeof finished === "string" ? { finishedAt: Date.parse(finished) } : {}),
  };
}
