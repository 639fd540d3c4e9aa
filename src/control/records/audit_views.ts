/**
 * Audit rows and tokens in answers: flat, in snake_case, and as tables.
 *
 * @module
 */

import type { AuditRecord, ControlAuditRecord } from "../../api/records.ts";
import { withClient } from "../../auth/caller.ts";
import { rfc3339 } from "../../base/clock.ts";
import { shortDuration } from "../../base/duration.ts";
import type { Column } from "../../resources/kind.ts";
import type { AuditRow, ControlEvent, ControlToken } from "../../store/audit_records.ts";

/** An audit row as JSON, under the names of its columns. */
export function auditView(row: AuditRow): AuditRecord {
  return {
    id: row.id,
    created_at: rfc3339(row.createdAt),
    finished_at: row.finishedAt === undefined ? null : rfc3339(row.finishedAt),
    action: row.action,
    crd_kind: row.crdKind,
    plugin_name: row.pluginName,
    plugin_type: row.pluginType,
    phase: row.phase,
    command: row.command,
    result: row.result,
    trigger: row.trigger || null,
    delivery_id: row.deliveryId || null,
    exit_code: row.exitCode ?? null,
    duration_ms: row.durationMs ?? null,
    stderr: row.stderr,
    role: row.role,
    policy_mode: row.policyMode,
  };
}

/** An audit row of the control plane as JSON. */
export function controlView(event: ControlEvent): ControlAuditRecord {
  const { id, createdAt, finishedAt, operation, target, caller, role, result, reason } = event;
  return {
    id,
    created_at: rfc3339(createdAt),
    finished_at: finishedAt === undefined ? null : rfc3339(finishedAt),
    operation,
    target,
    caller,
    client: event.client ?? null,
    role,
    result,
    reason: reason || null,
  };
}

/** Columns of `svc get audit`. */
export function auditColumns(now: number): Column<AuditRow>[] {
  return [
    { header: "ID", fit: "id", cell: (row) => row.id },
    { header: "ACTION", cell: (row) => row.action },
    { header: "KIND", cell: (row) => row.crdKind },
    { header: "PLUGIN", fit: "name", cell: (row) => row.pluginName },
    { header: "RESULT", cell: (row) => row.result },
    {
      header: "EXIT",
      secondary: true,
      cell: (row) => row.exitCode === undefined ? "" : String(row.exitCode),
    },
    {
      header: "DURATION",
      secondary: true,
      cell: (row) => row.durationMs === undefined ? "" : shortDuration(row.durationMs),
    },
    { header: "AGE", cell: (row) => shortDuration(now - row.createdAt) },
    { header: "COMMAND", fit: "text", wide: true, cell: (row) => row.command },
    { header: "TRIGGER", fit: "name", wide: true, cell: (row) => row.trigger },
    { header: "STDERR", fit: "text", wide: true, cell: (row) => row.stderr },
  ];
}

/** Columns of `svc get control-audit`. */
export function controlColumns(now: number): Column<ControlEvent>[] {
  return [
    { header: "ID", fit: "id", cell: (event) => event.id },
    { header: "OPERATION", fit: "name", cell: (event) => event.operation },
    { header: "TARGET", fit: "text", cell: (event) => event.target },
    {
      header: "CALLER",
      fit: "name",
      secondary: true,
      cell: ({ caller, client }) => withClient(caller, client),
    },
    { header: "ROLE", secondary: true, cell: (event) => event.role },
    { header: "RESULT", cell: (event) => event.result },
    { header: "AGE", cell: (event) => shortDuration(now - event.createdAt) },
    { header: "REASON", fit: "text", cell: (event) => event.reason },
  ];
}

/** A token as JSON; its text is not stored and so never shown. */
export function tokenView(token: ControlToken): Record<string, unknown> {
  const { id, name, role, person, gateway = false, createdAt, expiresAt, revokedAt } = token;
  return {
    id,
    name,
    role,
    person: person ?? null,
    gateway,
    created_at: rfc3339(createdAt),
    expires_at: rfc3339(expiresAt),
    revoked_at: revokedAt === undefined ? null : rfc3339(revokedAt),
  };
}

/** Columns of `svc get tokens`. */
export function tokenColumns(now: number): Column<ControlToken>[] {
  return [
    { header: "ID", fit: "id", cell: (token) => token.id },
    { header: "NAME", fit: "name", cell: (token) => token.name },
    { header: "PERSON", cell: ({ person, gateway }) => gateway ? "(gateway)" : person ?? "" },
    { header: "ROLE", cell: (token) => token.role },
    {
      header: "STATE",
      cell: ({ revokedAt, expiresAt }) =>
        revokedAt !== undefined ? "revoked" : expiresAt <= now ? "expired" : "valid",
    },
    { header: "ENDS", cell: (token) => rfc3339(token.expiresAt) },
    { header: "AGE", secondary: true, cell: (token) => shortDuration(now - token.createdAt) },
  ];
}
