/**
 * Rows of the table `deliveries` as records, and the conditions of its lists.
 *
 * @module
 */

import type {
  Delivery,
  DeliveryContent,
  DeliveryDetail,
  DeliveryOutcome,
  DeliveryQuery,
  DeliveryVia,
} from "../delivery_records.ts";
import type { DeliverySummary } from "../transactions/task_rows.ts";
import { bytes, json, number, storable, text } from "./columns.ts";
import type { Row, SqlValue } from "./row.ts";

/** Columns that {@linkcode toDelivery} takes: without the content, which can be large. */
export const DELIVERY_COLUMNS =
  `id, project, "trigger", source, received_at, outcome, reason, status, remote,
  secret_store, secret_key, task_id, body_bytes, duration_ms, detail, via`;

/** A delivery. */
export function toDelivery(row: Row): Delivery {
  return {
    id: text(row, "id"),
    project: text(row, "project"),
    trigger: text(row, "trigger"),
    source: text(row, "source"),
    via: text(row, "via") as DeliveryVia,
    receivedAt: number(row, "received_at"),
    outcome: text(row, "outcome") as DeliveryOutcome,
    reason: text(row, "reason"),
    status: number(row, "status"),
    remote: text(row, "remote"),
    secretStore: text(row, "secret_store"),
    secretKey: text(row, "secret_key"),
    taskId: text(row, "task_id"),
    bodyBytes: number(row, "body_bytes"),
    durationMs: number(row, "duration_ms"),
    detail: json(row, "detail") as DeliveryDetail,
  };
}

/** Ids of the tasks of a delivery, of its columns `task_id` and `detail`. */
export function taskIdsOf(row: Row): readonly string[] {
  const { events = [] } = json(row, "detail") as DeliveryDetail;
  return [text(row, "task_id"), ...events.map(({ taskId = "" }) => taskId)].filter((id) =>
    id !== ""
  );
}

/** Columns that {@linkcode toSummary} takes. */
export const SUMMARY_COLUMNS = "outcome, reason, task_id, detail";

/** What came of a delivery. */
export function toSummary(row: Row): DeliverySummary {
  return {
    outcome: text(row, "outcome") as DeliveryOutcome,
    reason: text(row, "reason"),
    taskId: text(row, "task_id"),
    detail: text(row, "detail"),
  };
}

/** What arrived with a delivery; `undefined` where it is not kept, or no longer with its body. */
export function toContent(row: Row): DeliveryContent | undefined {
  if (row["headers"] === null || row["body"] === null) return undefined;
  return {
    headers: json(row, "headers") as Record<string, string>,
    body: bytes(row, "body"),
    url: row["url"] === null ? "" : text(row, "url"),
  };
}

/** Conditions of a list that no index answers: each row has to be looked at. */
export function unindexedConditions(
  { since, until, reason, status, remote, key, minDurationMs }: DeliveryQuery,
): Readonly<Record<string, SqlValue | undefined>> {
  return {
    "received_at >= ?": since,
    "received_at <= ?": until,
    "instr(lower(reason), ?) > 0": reason === undefined ? undefined : storable(inLowerCase(reason)),
    "status = ?": status,
    "remote = ?": remote,
    "secret_key = ?": key,
    "duration_ms >= ?": minDurationMs,
  };
}

/** As `lower()` of both databases does it: letters of ASCII only. */
function inLowerCase(given: string): string {
  return given.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}
