/**
 * Rows of the table `plugin_audit`, read and written, in both databases. Times are RFC 3339 text,
 * so that they can be read in the database's own shell.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import type { AuditEnd, AuditResult, AuditRow, AuditStart } from "../audit_records.ts";
import type { AuditLink } from "../rules/audit_chain.ts";
import { number, optionalNumber, storable, text } from "./columns.ts";
import type { Row } from "./row.ts";

/** Every result of a row. */
export const AUDIT_RESULTS: readonly AuditResult[] = [
  "allowed",
  "denied",
  "audit_warning",
  "running",
  "ok",
  "rejected",
  "failed",
  "timeout",
  "interrupted",
];

/** The columns of a row that begins. */
export function auditStartColumns(start: AuditStart): Row {
  return {
    id: start.id,
    created_at: rfc3339(start.createdAt),
    action: start.action,
    crd_kind: start.crdKind,
    plugin_name: start.pluginName,
    command: storable(start.command),
    result: "running",
    plugin_type: start.pluginType,
    phase: start.phase,
    trigger: start.trigger,
    delivery_id: start.deliveryId,
    stderr: "",
    role: start.role,
    policy_mode: start.policyMode,
  };
}

/** The columns of a row that change when it ends. */
export function auditEndColumns(end: AuditEnd): {
  result: AuditEnd["result"];
  finished_at: string;
  exit_code: number | null;
  duration_ms: number | null;
  stderr: string;
} {
  return {
    result: end.result,
    finished_at: rfc3339(end.finishedAt),
    exit_code: end.exitCode ?? null,
    duration_ms: end.durationMs ?? null,
    stderr: storable(end.stderr),
  };
}

/** A row of the audit. */
export function toAuditRow(row: Row): AuditRow {
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

/** Converts a row to a link of the audit chain. */
export function toAuditLink(row: Row): AuditLink {
  return {
    position: number(row, "position"),
    auditId: text(row, "audit_id"),
    link: text(row, "link"),
    hash: text(row, "hash"),
  };
}
