/**
 * The table `plugin_audit`. Each write adds a link to the chain of `audit_chain.ts`.
 *
 * @module
 */

import type { AuditEnd, AuditQuery, AuditRow, AuditStart } from "../../audit_records.ts";
import { isGone } from "../../rules/ownership.ts";
import { AUDIT_RESULTS, auditEndColumns, auditStartColumns, toAuditRow } from "../../sql/audit.ts";
import { text } from "../../sql/columns.ts";
import { insertion, ordered, prefixEnd, textRange, where } from "../../sql/queries.ts";
import type { SqlValue } from "../../sql/row.ts";
import type { Database } from "../engine/database.ts";
import { newestIds } from "../engine/newest.ts";
import { addLink } from "./audit_chain.ts";

/** Writes a row with the result `running`. */
export function startAudit(db: Database, start: AuditStart): void {
  const row = insertion("plugin_audit", [{ ...auditStartColumns(start), node: db.node }]);
  db.run(row.sql, ...row.values);
  addLink(db, start.id, "start");
}

/** Finishes a running row; a finished one stays as it is. */
export function finishAudit(db: Database, id: string, end: AuditEnd): void {
  const { result, finished_at, exit_code, duration_ms, stderr } = auditEndColumns(end);
  const changed = db.run(
    `UPDATE plugin_audit SET result = ?, finished_at = ?, exit_code = ?, duration_ms = ?, stderr = ?
     WHERE id = ? AND result = 'running'`,
    result,
    finished_at,
    exit_code,
    duration_ms,
    stderr,
    id,
  );
  if (changed === 1) addLink(db, id, "finish");
}

/** Writes rows of runs that are over already. */
export function recordAudit(
  db: Database,
  rows: readonly { readonly start: AuditStart; readonly end: AuditEnd }[],
): void {
  for (const { start, end } of rows) {
    startAudit(db, start);
    finishAudit(db, start.id, end);
  }
}

/** Takes over the rows of plugins that run for a node that is gone, oldest first. */
export function claimInterruptedAudits(db: Database): AuditRow[] {
  const rows = db.all("SELECT * FROM plugin_audit WHERE result = 'running' ORDER BY id")
    .filter((row) => isGone(text(row, "node"), db.node));
  for (const row of rows) {
    db.run("UPDATE plugin_audit SET node = ? WHERE id = ?", db.node, text(row, "id"));
  }
  return rows.map(toAuditRow);
}

/** Audit rows, in the order of the list. */
export function listAudit(db: Database, query: AuditQuery): AuditRow[] {
  const { trigger, outcome, limit } = query;
  const conditions = textRange(query, "created_at");
  if (trigger === undefined && outcome === undefined) {
    const { clause, values } = where(conditions);
    return readRows(db, `${clause} ${ordered(query)} LIMIT ?`, [...values, limit]);
  }
  const ids = newestIds({
    table: "plugin_audit",
    index: trigger === undefined ? "plugin_audit_by_result" : "plugin_audit_of_trigger",
    column: "result",
    among: outcome === undefined
      ? AUDIT_RESULTS
      : AUDIT_RESULTS.filter((known) => known === outcome),
    conditions: Object.assign({ '"trigger" = ?': trigger }, conditions),
    limit,
    oldestFirst: query.oldestFirst === true,
  });
  return readRows(db, `WHERE id IN (${ids.sql}) ${ordered(query)}`, ids.values);
}

function readRows(db: Database, tail: string, values: readonly SqlValue[]): AuditRow[] {
  return db.all(`SELECT * FROM plugin_audit ${tail}`, ...values).map(toAuditRow);
}

/** Audit rows whose id starts with `prefix`, at most two. */
export function findAudit(db: Database, prefix: string): AuditRow[] {
  const range = [prefix, prefixEnd(prefix)];
  return readRows(db, "WHERE id >= ? AND id < ? ORDER BY id LIMIT 2", range);
}
