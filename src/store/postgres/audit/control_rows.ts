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
import type { Session } from "../database/connections.ts";

/** Stores one operation, and removes the oldest rows of the same caller and result. */
export async function recordControl(db: Session, event: ControlEvent): Promise<void> {
  const row = insertion("control_audit", [controlColumns(event)]);
  await db.run(row.sql, ...row.values);
  await removeSurplus(db, event);
}

/** Stores the end of an operation that is `started`; any other stays as it is. */
export async function finishControl(db: Session, id: string, end: ControlEnd): Promise<void> {
  const { result, reason, finished_at } = controlEndColumns(end);
  const row = await db.get(
    `UPDATE control_audit SET result = ?, reason = ?, finished_at = ?
     WHERE id = ? AND result = 'started' RETURNING caller`,
    ...[result, reason, finished_at, id],
  );
  if (row !== undefined) await removeSurplus(db, { caller: text(row, "caller"), result });
}

async function removeSurplus(
  db: Session,
  { caller, result }: Pick<ControlEvent, "caller" | "result">,
): Promise<void> {
  await db.run(
    `DELETE FROM control_audit WHERE caller = ?1 AND result = ?2 AND position <=
      (SELECT position FROM control_audit WHERE caller = ?1 AND result = ?2
        ORDER BY position DESC LIMIT 1 OFFSET ?3)`,
    caller,
    result,
    MAX_CONTROL_ROWS,
  );
}

/** Operations, in the order of the list. */
export async function listControl(db: Session, query: ListQuery): Promise<ControlEvent[]> {
  const { clause, values } = where(textRange(query, "created_at"));
  const rows = await db.all(
    `SELECT * FROM control_audit ${clause} ${ordered(query)} LIMIT ?`,
    ...values,
    query.limit,
  );
  return rows.map(toControlEvent);
}
