/**
 * The table `control_audit`, in both databases: admin operations, reads of secrets, and refusals.
 * Times are RFC 3339 text, so that they can be read in the database's own shell.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import type { ControlEnd, ControlEvent, ControlQuery } from "../audit_records.ts";
import { storable, text } from "./columns.ts";
import { insertion, ordered, textRange, where } from "./queries.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";

/**
 * Rows of the control plane that are kept for each caller and result, so that frequent operations of
 * one caller do not push out the rows of others.
 */
const MAX_ROWS = 20_000;

/** Stores one operation, and removes the oldest rows of the same caller and result. */
export async function recordControl(db: SqlSession, event: ControlEvent): Promise<void> {
  const row = insertion("control_audit", [controlColumns(event)]);
  await db.run(row.sql, ...row.values);
  await removeSurplus(db, event);
}

/** Stores the end of an operation that is `started`; any other stays as it is. */
export async function finishControl(db: SqlSession, id: string, end: ControlEnd): Promise<void> {
  const row = await db.returning(
    `UPDATE control_audit SET result = ?, reason = ?, finished_at = ?
     WHERE id = ? AND result = 'started' RETURNING caller`,
    end.result,
    storable(end.reason),
    rfc3339(end.finishedAt),
    id,
  );
  if (row === undefined) return;
  await removeSurplus(db, { caller: text(row, "caller"), result: end.result });
}

async function removeSurplus(
  db: SqlSession,
  { caller, result }: Pick<ControlEvent, "caller" | "result">,
): Promise<void> {
  const { position } = db.dialect;
  await db.run(
    `DELETE FROM control_audit WHERE caller = ?1 AND result = ?2 AND ${position} <=
      (SELECT ${position} FROM control_audit WHERE caller = ?1 AND result = ?2
        ORDER BY ${position} DESC LIMIT 1 OFFSET ?3)`,
    caller,
    result,
    MAX_ROWS,
  );
}

/** Operations, in the order of the list. */
export async function listControl(db: SqlSession, query: ControlQuery): Promise<ControlEvent[]> {
  const { clause, values } = where({
    "caller = ?": query.caller,
    ...textRange(query, "created_at"),
  });
  const rows = await db.all(
    `SELECT * FROM control_audit ${clause} ${ordered(query)} LIMIT ?`,
    ...values,
    query.limit,
  );
  return rows.map(toControlEvent);
}

/** The columns of an operation of the control plane. */
function controlColumns(event: ControlEvent): Row {
  return {
    id: event.id,
    created_at: rfc3339(event.createdAt),
    operation: event.operation,
    target: event.target,
    caller: event.caller,
    role: event.role,
    result: event.result,
    reason: storable(event.reason),
    finished_at: event.finishedAt === undefined ? null : rfc3339(event.finishedAt),
    client: event.client ?? null,
  };
}

/** An operation of the control plane. */
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
