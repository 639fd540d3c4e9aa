/**
 * The table `deliveries`, in both databases: rows as records, single ones with their content, and
 * the conditions of lists.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import type {
  Delivery,
  DeliveryContent,
  DeliveryDetail,
  DeliveryOutcome,
  DeliveryQuery,
  DeliveryVia,
  StoredDelivery,
} from "../delivery_records.ts";
import type { DeliverySummary } from "../transactions/task_rows.ts";
import { bytes, json, number, storable, text } from "./columns.ts";
import { prefixEnd } from "./queries.ts";
import type { Row, SqlValue } from "./row.ts";
import type { SqlSession } from "./session.ts";

/** Columns that {@linkcode toDelivery} takes: without the content, which can be large. */
export const DELIVERY_COLUMNS =
  `id, project, "trigger", source, received_at, outcome, reason, status, remote,
  secret_store, secret_key, task_id, body_bytes, duration_ms, detail, via`;

/** A delivery of a row with {@linkcode DELIVERY_COLUMNS}. */
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

/** The outcome of a delivery, of a row with {@linkcode SUMMARY_COLUMNS}. */
export function toSummary(row: Row): DeliverySummary {
  return {
    outcome: text(row, "outcome") as DeliveryOutcome,
    reason: text(row, "reason"),
    taskId: text(row, "task_id"),
    detail: text(row, "detail"),
  };
}

/** The content of a delivery; `undefined` if it was not kept, or if its body was deleted. */
function toContent(row: Row): DeliveryContent | undefined {
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

/** Lowers only the letters of ASCII, as `lower()` of both databases does. */
function inLowerCase(given: string): string {
  return given.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Deliveries whose id starts with `prefix`, at most two. */
export async function findDeliveries(db: SqlSession, prefix: string): Promise<Delivery[]> {
  const rows = await db.all(
    `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE id >= ? AND id < ? ORDER BY id LIMIT 2`,
    prefix,
    prefixEnd(prefix),
  );
  return rows.map(toDelivery);
}

/** A delivery with its content. */
export async function readDelivery(
  db: SqlSession,
  id: string,
): Promise<StoredDelivery | undefined> {
  return (await readDeliveries(db, [id]))[0];
}

/** Deliveries with their content, newest first. */
export async function readDeliveries(
  db: SqlSession,
  ids: readonly string[],
): Promise<StoredDelivery[]> {
  const rows = await db.all(
    `SELECT found.*, kept.headers, kept.url, kept.body
     FROM (SELECT ${DELIVERY_COLUMNS}, content_of FROM deliveries
       WHERE id IN (SELECT value FROM json_each(?))) AS found
     LEFT JOIN deliveries AS kept ON kept.id = coalesce(found.content_of, found.id)
     ORDER BY found.id DESC`,
    JSON.stringify(ids),
  );
  return rows.map((row) => ({
    delivery: toDelivery(row),
    ...defined({
      content: toContent(row),
      contentOf: row["content_of"] === null ? undefined : text(row, "content_of"),
    }),
  }));
}
