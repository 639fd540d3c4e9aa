/**
 * Resources and records in answers: resources as `{kind, metadata, spec, status}`, records flat in
 * snake_case, and the cells of their tables.
 *
 * @module
 */

import type {
  DeliveryRecord,
  EventRecord,
  ReachedHostView,
  TaskRecord,
} from "../../api/records.ts";
import type { Listing } from "../../api/resource_operations.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { shortDuration } from "../../base/duration.ts";
import type { AnyKind, Column } from "../../resources/kind.ts";
import { DEFAULT_PROJECT, type Resource } from "../../resources/resource.ts";
import type { Delivery, EventOutcome } from "../../store/delivery_records.ts";
import type { ReachedHost, Task } from "../../store/task_records.ts";
import type { ExplainedTask } from "./explained_tasks.ts";

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
export function taskView(task: ExplainedTask): TaskRecord {
  return {
    id: task.id,
    project: task.project,
    trigger: task.trigger,
    workflow: task.workflow,
    workspace: task.workspace,
    state: task.state,
    reason: reasonOf(task),
    delivery_id: task.deliveryId || null,
    parent_id: task.parentId || null,
    ...(task.rootId === "" ? {} : { root_id: task.rootId }),
    retry_of: task.retryOf || null,
    ...defined({ retried_by: task.retriedBy?.called }),
    created_at: rfc3339(task.createdAt),
    started_at: time(task.startedAt),
    finished_at: time(task.finishedAt),
    restarts: task.restarts,
    ...(task.directory === "" ? {} : { directory: task.directory }),
    ...(task.cancelReason === "" ? {} : { cancel_reason: task.cancelReason }),
    ...(task.waitsFor?.readiness === undefined ? {} : { readiness: task.waitsFor.readiness }),
    ...defined({ waits_for: task.waitsFor?.view }),
    ...(task.silentSince === undefined ? {} : { silent_since: rfc3339(task.silentSince) }),
    ...defined({ conversation: task.conversation, unread: task.unread }),
    ...(nodeOf(task) === "" ? {} : { node: nodeOf(task) }),
    steps: task.steps.map((step) => ({
      id: step.id,
      state: step.state,
      attempt: step.attempt ?? 1,
      ...defined({ round: step.round }),
      exit_code: step.exitCode ?? null,
      reason: step.reason,
      ...defined({
        failure: step.failure,
        session: step.session,
        network: step.network?.map(hostView),
      }),
      outputs: step.outputs ?? {},
      started_at: time(step.startedAt),
      finished_at: time(step.finishedAt),
    })),
  };
}

function hostView({ host, requests, refused, ...counts }: ReachedHost): ReachedHostView {
  const { sentBytes, receivedBytes, tokensIn, tokensOut } = counts;
  return {
    host,
    requests,
    refused,
    sent_bytes: sentBytes,
    received_bytes: receivedBytes,
    ...defined({ tokens_in: tokensIn, tokens_out: tokensOut }),
  };
}

/** The reason of a task that has ended; of any other, what it waits for. */
function reasonOf({ reason, waitsFor }: ExplainedTask): string {
  return reason === "" ? waitsFor?.text ?? "" : reason;
}

/** The node that runs a task or ran it last, by its name if that is known. */
function nodeOf({ node = "", nodeName = node, startedAt }: Task): string {
  return startedAt === undefined ? "" : nodeName;
}

/** A delivery as JSON. */
export function deliveryView(delivery: Delivery): DeliveryRecord {
  return {
    id: delivery.id,
    project: delivery.project,
    trigger: delivery.trigger,
    source: delivery.source,
    event: delivery.detail.event ?? null,
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
    ...defined({ headers_left_off: delivery.detail.headersLeftOff }),
    redelivery_of: delivery.detail.redeliveryOf ?? null,
    ...defined({ by: delivery.detail.by?.called }),
    ...(delivery.detail.bodyDeletedAt === undefined
      ? {}
      : { body_deleted_at: rfc3339(delivery.detail.bodyDeletedAt) }),
    ...(delivery.detail.events === undefined
      ? {}
      : { events: delivery.detail.events.map(eventView) }),
  };
}

/** One event of a delivery as JSON. */
export function eventView(event: EventOutcome): EventRecord {
  return {
    outcome: event.outcome,
    reason: event.reason,
    task_id: event.taskId ?? null,
    duplicate_of: event.duplicateOf ?? null,
  };
}

/** Columns of `svc get task`. */
export function taskColumns(now: number): Column<ExplainedTask>[] {
  return [
    { header: "ID", fit: "id", cell: (task) => task.id },
    { header: "TRIGGER", fit: "name", cell: (task) => task.trigger },
    { header: "WORKFLOW", fit: "name", repeats: "TRIGGER", cell: (task) => task.workflow },
    { header: "STATE", cell: (task) => task.state },
    { header: "AGE", cell: (task) => shortDuration(now - task.createdAt) },
    { header: "DURATION", secondary: true, cell: (task) => durationOf(task, now) },
    projectColumn((task) => task.project),
    { header: "REASON", fit: "text", cell: reasonOf },
    { header: "NODE", fit: "name", wide: true, cell: nodeOf },
    { header: "WORKSPACE", fit: "name", wide: true, cell: (task) => task.workspace },
    { header: "DELIVERY", fit: "id", wide: true, cell: (task) => task.deliveryId },
    { header: "RETRY-OF", fit: "id", wide: true, cell: (task) => task.retryOf },
    { header: "PARENT", fit: "id", wide: true, cell: (task) => task.parentId },
    {
      header: "CONVERSATION",
      fit: "name",
      wide: true,
      cell: ({ conversation = "" }) => conversation,
    },
  ];
}

/** Columns of `svc get deliveries`. */
export function deliveryColumns(now: number): Column<Delivery>[] {
  return [
    { header: "ID", fit: "id", cell: (delivery) => delivery.id },
    { header: "TRIGGER", fit: "name", cell: (delivery) => delivery.trigger },
    { header: "OUTCOME", cell: (delivery) => delivery.outcome },
    { header: "STATUS", secondary: true, cell: (delivery) => String(delivery.status || "") },
    { header: "TASK", fit: "id", cell: (delivery) => delivery.taskId },
    { header: "AGE", cell: (delivery) => shortDuration(now - delivery.receivedAt) },
    projectColumn((delivery) => delivery.project),
    { header: "REASON", fit: "text", cell: (delivery) => delivery.reason },
    { header: "EVENT", fit: "name", wide: true, cell: (delivery) => delivery.detail.event ?? "" },
    { header: "KEY", fit: "name", wide: true, cell: (delivery) => delivery.secretKey },
    { header: "BYTES", wide: true, cell: (delivery) => String(delivery.bodyBytes) },
    { header: "REMOTE", fit: "name", wide: true, cell: (delivery) => delivery.remote },
  ];
}

function durationOf(task: Task, now: number): string {
  if (task.startedAt === undefined) return "";
  return shortDuration((task.finishedAt ?? now) - task.startedAt);
}

function time(ms: number | undefined): string | null {
  return ms === undefined ? null : rfc3339(ms);
}

/**
 * The column of a project. If the request names no project, it is shown once the rows have
 * different ones.
 */
export function projectColumn<Row>(project: (row: Row) => string): Column<Row> {
  return { header: PROJECT, fit: "name", wide: true, cell: project };
}

const PROJECT = "PROJECT";

/**
 * Headings and cells of rows.
 *
 * @param project of the request; absent when the rows may be of any project.
 */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  project: string | undefined,
): Pick<Listing, "columns" | "rows"> {
  const cells = rows.map((row) => columns.map(({ cell }) => cell(row)));
  const at = columns.findIndex(({ header }) => header === PROJECT);
  const severalProjects = project === undefined &&
    cells.some((row) => ![undefined, "", DEFAULT_PROJECT].includes(row[at]));
  return {
    columns: columns.map(({ header, wide = false, fit, repeats, secondary }, index) => ({
      header,
      wide: wide && !(index === at && severalProjects),
      ...defined({ fit, repeats, secondary }),
    })),
    rows: cells,
  };
}
