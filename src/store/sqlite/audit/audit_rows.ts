/**
 * The table `plugin_audit`. Times are RFC 3339 text, to be readable in `sqlite3`. Each write adds a
 * link to the chain of `audit_chain.ts`.
 *
 * @module
 */

import { rfc3339 } from "../../../base/clock.ts";
import type {
  AuditEnd,
  AuditQuery,
  AuditResult,
  AuditRow,
  AuditStart,
} from "../../audit_records.ts";
import { isGone } from "../../rules/ownership.ts";
import { addLink } from "./audit_chain.ts";
import { optionalNumber, storable, text } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";
import type { Row, SqlValue } from "../../sql/row.ts";
import { ordered, prefixEnd, textRange, where } from "../../sql/queries.ts";
import { newestIds } from "../engine/newest.ts";

/** Writes a row with the result `running`. */
export function startAudit(db: Database, start: AuditStart): void {
  db.run(
    `INSERT INTO plugin_audit (id, created_at, action, crd_kind, plugin_name, command, result,
       plugin_type, phase, "trigger", delivery_id, stderr, role, policy_mode, node)
     VALUES (?, ?, ?, ?, ?, ?, 'running', ?, ?, ?, ?, '', ?, ?, ?)`,
    start.id,
    rfc3339(start.createdAt),
    start.action,
    start.crdKind,
    start.pluginName,
    start.command,
    start.pluginType,
    start.phase,
    start.trigger,
    start.deliveryId,
    start.role,
    start.policyMode,
    db.node,
  );
  addLink(db, start.id, "start");
}

/** Finishes a running row; a finished one stays as it is. */
export function finishAudit(db: Database, id: string, end: AuditEnd): void {
  const changed = db.run(
    `UPDATE plugin_audit SET result = ?, finished_at = ?, exit_code = ?, duration_ms = ?, stderr = ?
     WHERE id = ? AND result = 'running'`,
    end.result,
    rfc3339(end.finishedAt),
    end.exitCode ?? null,
    end.durationMs ?? null,
    storable(end.stderr),
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

const RESULTS: readonly AuditResult[] = [
  ...["allowed", "denied", "audit_warning", "running", "ok"] as const,
  ...["rejected", "failed", "timeout", "interrupted"] as const,
];

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
    among: outcome === undefined ? RESULTS : RESULTS.filter((known) => known === outcome),
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

function toAuditRow(row: Row): AuditRow {
  const finished = row["finished_at"];
  return {
    id: text(row, "id"),
    createdAt: Date.parse(text(row, "created_at")),
    action: text(row, "action") as AuditRow["action"],
    crdKind: text(row, "crd_kind"),
    pluginName: text(row, "plugin_name"),
    command: text(row, "command"),
    result: text(row, "result") as AuditResult,
    pluginType: text(row, "plugin_type"),
    phase: text(row, "phase"),
    trigger: text(row, "trigger"),
    deliveryId: text(row, "delivery_id"),
    role: text(row, "role"),
    policyMode: text(row, "policy_mode"),
    stderr: text(row, "stderr"),
    ...(typeof finished === "string" ? { finishedAt: Date.parse(finished) } : {}),
    ...optionalNumber(row, "exit_code", "exitCode"),
    ...optionalNumber(row, "duration_ms", "durationMs"),
  };
}
