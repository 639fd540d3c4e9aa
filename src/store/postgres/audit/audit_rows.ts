/**
 * The table `plugin_audit`. Each write adds links to a chain of `audit_chain.ts`: a row to that of
 * the node that starts it, and its end to the same one, no matter who finishes it.
 *
 * @module
 */

import type { AuditEnd, AuditQuery, AuditRow, AuditStart } from "../../audit_records.ts";
import { auditEndColumns, auditStartColumns, toAuditRow } from "../../sql/audit.ts";
import { text } from "../../sql/columns.ts";
import { insertion, ordered, prefixEnd, textRange, where } from "../../sql/queries.ts";
import type { SqlValue } from "../../sql/row.ts";
import type { Session } from "../database/connections.ts";
import { isGoneSql } from "../database/ownership.ts";
import { addLinks, type Covered } from "./audit_chain.ts";

/** Writes a row with the result `running`. */
export async function startAudit(db: Session, start: AuditStart): Promise<void> {
  await add(db, [auditStartColumns(start)]);
}

/** Writes rows of runs that are over already. */
export async function recordAudit(
  db: Session,
  rows: readonly { readonly start: AuditStart; readonly end: AuditEnd }[],
): Promise<void> {
  await add(
    db,
    rows.map(({ start, end }) => Object.assign(auditStartColumns(start), auditEndColumns(end))),
  );
}

async function add(
  db: Session,
  rows: readonly Readonly<Record<string, SqlValue>>[],
): Promise<void> {
  if (rows.length === 0) return;
  const { node, run } = db.owner;
  const { sql, values } = insertion(
    "plugin_audit",
    rows.map((row) => ({ ...row, node, run, chain: node })),
  );
  const added = await db.all(`${sql} RETURNING *`, ...values);
  await addLinks(
    db,
    node,
    added.flatMap((row): Covered[] =>
      row["result"] === "running"
        ? [{ row, link: "start" }]
        : [{ row, link: "start" }, { row, link: "finish" }]
    ),
  );
}

/** Finishes a running row; a finished one stays as it is. */
export async function finishAudit(db: Session, id: string, end: AuditEnd): Promise<void> {
  const { result, finished_at, exit_code, duration_ms, stderr } = auditEndColumns(end);
  const row = await db.get(
    `UPDATE plugin_audit SET result = ?, finished_at = ?, exit_code = ?, duration_ms = ?, stderr = ?
     WHERE id = ? AND result = 'running' RETURNING *`,
    ...[result, finished_at, exit_code, duration_ms, stderr, id],
  );
  if (row !== undefined) await addLinks(db, text(row, "chain"), [{ row, link: "finish" }]);
}

/** Takes over the rows of plugins that run for a daemon that is gone, oldest first. */
export async function claimInterruptedAudits(db: Session): Promise<AuditRow[]> {
  const { node, run } = db.owner;
  const rows = await db.all(
    `UPDATE plugin_audit SET node = ?, run = ? WHERE id IN (
       SELECT id FROM plugin_audit WHERE result = 'running' AND ${isGoneSql("plugin_audit")}
       FOR UPDATE SKIP LOCKED)
     RETURNING *`,
    node,
    run,
  );
  return rows.map(toAuditRow).toSorted((a, b) => a.id < b.id ? -1 : 1);
}

/** Audit rows, in the order of the list. */
export async function listAudit(db: Session, query: AuditQuery): Promise<AuditRow[]> {
  const { clause, values } = where(Object.assign(
    { '"trigger" = ?': query.trigger, "result = ?": query.outcome },
    textRange(query, "created_at"),
  ));
  return await readRows(db, `${clause} ${ordered(query)} LIMIT ?`, [...values, query.limit]);
}

async function readRows(
  db: Session,
  tail: string,
  values: readonly SqlValue[],
): Promise<AuditRow[]> {
  return (await db.all(`SELECT * FROM plugin_audit ${tail}`, ...values)).map(toAuditRow);
}

/** Audit rows whose id starts with `prefix`, at most two. */
export async function findAudit(db: Session, prefix: string): Promise<AuditRow[]> {
  const range = [prefix, prefixEnd(prefix)];
  return await readRows(db, "WHERE id >= ? AND id < ? ORDER BY id LIMIT 2", range);
}
