/**
 * Resources and records in answers: resources as `{kind, metadata, spec, status}`, records flat in
 * snake_case, and the cells of their tables.
 *
 * @module
 */

import type { Listing } from "../../api/resource_operations.ts";
import { rfc3339 } from "../../base/clock.ts";
import { shortDuration } from "../../base/duration.ts";
import type { AnyKind, Column } from "../../resources/kind.ts";
import type { Resource } from "../../resources/resource.ts";
import type { Delivery, EventOutcome } from "../../store/delivery_records.ts";
import type { Task } from "../../store/task_records.ts";

/** A resource as JSON, with `extra` fields; secrets are masked unless `reveal`. */
export function resourceView(
  kind: AnyKind,
  resource: Resource,
  options: { reveal?: boolean; status?: Record<string, unknown> } = {},
): Record<string, unknown> {
  const { project, name, metadata, spec } = resource;
  return {
    kind: resource.kind,
    metadata: { name, ...(project === "" ? {} : { project }), ...metadata },
    spec: options.reveal === true ? spec : kind.mask?.(spec) ?? spec,
    status: {
      generation: resource.generation,
      created_at: rfc3339(resource.createdAt),
      updated_at: rfc3339(resource.updatedAt),
      ...options.status,
    },
  };
}

/** A task as JSON. */
export function taskView(task: Task): Record<string, unknown> {
  return {
    id: task.id,
    project: task.project,
    trigger: task.trigger,
    workflow: task.workflow,
    workspace: task.workspace,
    state: task.state,
    reason: task.reason,
    delivery_id: task.deliveryId || null,
    parent_id: task.parentId || null,
    retry_of: task.retryOf || null,
    created_at: rfc3339(task.createdAt),
    started_at: time(task.startedAt),
    finished_at: time(task.finishedAt),
    restarts: task.restarts,
    ...(task.directory === "" ? {} : { directory: task.directory }),
    ...(task.cancelReason === "" ? {} : { cancel_reason: task.cancelReason }),
    steps: task.steps.map((step) => ({
      id: step.id,
      state: step.state,
      attempt: step.attempt ?? 1,
      exit_code: step.exitCode ?? null,
      reason: step.reason,
      outputs: step.outputs ?? {},
      started_at: time(step.startedAt),
      finished_at: time(step.finishedAt),
    })),
  };
}

/** A delivery as JSON. */
export function deliveryView(delivery: Delivery): Record<string, unknown> {
  return {
    id: delivery.id,
    project: delivery.project,
    trigger: delivery.trigger,
    source: delivery.source,
    via: delivery.via,
    outcome: delivery.outcome,
    reason: delivery.reason,
    status: delivery.status || null,
    remote: delivery.remote,
    secret_store: delivery.secretStore || null,
    secret_key: delivery.secretKey || null,
    task_id: delivery.taskId || null,
    body_bytes: delivery.bodyBytes,
    received_at: rfc3339(delivery.receivedAt),
    duration_ms: delivery.durationMs,
    stages_ms: delivery.detail.stages,
    header_names: delivery.detail.headerNames,
    redelivery_of: delivery.detail.redeliveryOf ?? null,
    ...(delivery.detail.events === undefined
      ? {}
      : { events: delivery.detail.events.map(eventView) }),
  };
}

/** One event of a delivery as JSON. */
export function eventView(event: EventOutcome): Record<string, unknown> {
  return {
    outcome: event.outcome,
    reason: event.reason,
    task_id: event.taskId ?? null,
    duplicate_of: event.duplicateOf ?? null,
  };
}

/** Columns of `svc get task`. */
export function taskColumns(now: number): Column<Task>[] {
  return [
    { header: "ID", cell: (task) => task.id },
    { header: "TRIGGER", cell: (task) => task.trigger },
    { header: "WORKFLOW", cell: (task) => task.workflow },
    { header: "STATE", cell: (task) => task.state },
    { header: "AGE", cell: (task) => shortDuration(now - task.createdAt) },
    { header: "DURATION", cell: (task) => durationOf(task, now) },
    { header: "PROJECT", wide: true, cell: (task) => task.project },
    { header: "WORKSPACE", wide: true, cell: (task) => task.workspace },
    { header: "DELIVERY", wide: true, cell: (task) => task.deliveryId },
    { header: "RETRY-OF", wide: true, cell: (task) => task.retryOf },
    { header: "PARENT", wide: true, cell: (task) => task.parentId },
    { header: "REASON", wide: true, cell: (task) => task.reason },
  ];
}

/** Columns of `svc get deliveries`. */
export function deliveryColumns(now: number): Column<Delivery>[] {
  return [
    { header: "ID", cell: (delivery) => delivery.id },
    { header: "TRIGGER", cell: (delivery) => delivery.trigger },
    { header: "OUTCOME", cell: (delivery) => delivery.outcome },
    { header: "STATUS", cell: (delivery) => String(delivery.status || "") },
    { header: "TASK", cell: (delivery) => delivery.taskId },
    { header: "AGE", cell: (delivery) => shortDuration(now - delivery.receivedAt) },
    { header: "REASON", cell: (delivery) => delivery.reason },
    { header: "KEY", wide: true, cell: (delivery) => delivery.secretKey },
    { header: "BYTES", wide: true, cell: (delivery) => String(delivery.bodyBytes) },
    { header: "REMOTE", wide: true, cell: (delivery) => delivery.remote },
  ];
}

function durationOf(task: Task, now: number): string {
  if (task.startedAt === undefined) return "";
  return shortDuration((task.finishedAt ?? now) - task.startedAt);
}

function time(ms: number | undefined): string | null {
  return ms === undefined ? null : rfc3339(ms);
}

/** Headings and cells of rows. */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): Pick<Listing, "columns" | "rows"> {
  return {
    columns: columns.map(({ header, wide }) => ({ header, wide: wide === true })),
    rows: rows.map((row) => columns.map(({ cell }) => cell(row))),
  };
}
