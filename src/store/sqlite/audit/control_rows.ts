/**
 * The table `control_audit`: admin work, secrets that were read, and refusals.
 *
 * @module
 */

import type { ControlEnd, ControlEvent } from "../../audit_records.ts";
import type { ListQuery } from "../../list_query.ts";
import {
  controlColumns,
  controlEndColumns,
  MAX_CONTROL_ROWS,
  toControlEvent,
} from "../../sql/audit.ts";
import { text } from "../../sql/columns.ts";
import { insertion, ordered, textRange, where } from "../../sql/queries.ts";
import type { Database } from "../engine/database.ts";

/** Stores one operation, and removes the oldest rows of the same caller and result. */
export function recordControl(db: Database, event: ControlEvent): void {
  const row = insertion("control_audit", [controlColumns(event)]);
  db.run(row.sql, ...row.values);
  removeSurplus(db, event);
}

/** Stores the end of an operation that is `started`; any other stays as it is. */
export function finishControl(db: Database, id: string, end: ControlEnd): void {
  const row = db.get("SELECT caller FROM control_audit WHERE id = ? AND result = 'started'", id);
  if (row === undefined) return;
  const { result, reason, finished_at } = controlEndColumns(end);
  db.run(
    "UPDATE control_audit SET result = ?, reason = ?, finished_at = ? WHERE id = ?",
    ...[result, reason, finished_at, id],
  );
  removeSurplus(db, { caller: text(row, "caller"), result });
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
    MAX_CONTROL_ROWS,
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
