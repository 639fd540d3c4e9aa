/**
 * The table `deliveries`. Each event of a delivery is recorded by `event_rows.ts`, in the same
 * transaction.
 *
 * @module
 */

import {
  bestOf,
  countsText,
  type DedupTimes,
  type Delivery,
  DELIVERY_OUTCOMES,
  type DeliveryContent,
  type DeliveryDetail,
  type DeliveryOutcome,
  type DeliveryQuery,
  type DeliveryVia,
  type EventOutcome,
  type HeaderPage,
  type HeaderQuery,
  type NewDeliveries,
  type NewDelivery,
  type Rejection,
  type RejectionLimits,
  type StoredDelivery,
} from "../../delivery_records.ts";
import { bytes, json, number, storable, text } from "../../sql/columns.ts";
import { moveCursor } from "./cursor_rows.ts";
import type { Database } from "../engine/database.ts";
import type { Row, SqlValue } from "../../sql/row.ts";
import { recordEvent } from "./event_rows.ts";
import { type ArrivedContent, type ArrivedDelivery, withEvents } from "./packed_delivery.ts";
import { idRange, listRange, oldestIdSince, ordered, prefixEnd, where } from "../../sql/queries.ts";
import { newestIds, ofEachProject } from "../engine/newest.ts";

/** Stores a delivery, and the tasks of those of its events that are new and have room. */
export function recordDelivery(db: Database, given: NewDelivery): readonly EventOutcome[] {
  const { delivery, content } = given;
  return recordArrived(db, {
    ...given,
    detail: JSON.stringify(delivery.detail),
    content: { ...content, headers: JSON.stringify(content.headers) },
  });
}

/** The same, of a delivery that was packed. */
export function recordArrived(db: Database, given: ArrivedDelivery): readonly EventOutcome[] {
  const known = given.once === true ? findDelivery(db, given.delivery.id) : undefined;
  if (known !== undefined) return outcomesOf(known);
  const outcomes = recordEvents(db, given, given.content);
  if (given.cursor !== undefined) moveCursor(db, given.cursor);
  return outcomes;
}

/**
 * Stores one request as several triggers get it. The last row keeps the content, for the others as well:
 * retention comes to it last, when no other needs it any more.
 */
export function recordDeliveries(
  db: Database,
  { deliveries, content, dedupWindowMs, dedupKeepMs }: NewDeliveries,
): readonly (readonly EventOutcome[])[] {
  const kept = { ...content, headers: JSON.stringify(content.headers) };
  const last = deliveries.at(-1)?.delivery.id ?? "";
  return deliveries.map(({ delivery, events }) => {
    const detail = JSON.stringify(delivery.detail);
    const given = { delivery, events, dedupWindowMs, dedupKeepMs, detail };
    const isLast = delivery.id === last;
    const outcomes = recordEvents(db, given, isLast ? kept : undefined);
    if (!isLast) db.run("UPDATE deliveries SET content_of = ? WHERE id = ?", last, delivery.id);
    return outcomes;
  });
}

function recordEvents(
  db: Database,
  given: Pick<ArrivedDelivery, "delivery" | "events" | "detail" | keyof DedupTimes>,
  content: ArrivedContent | undefined,
): readonly EventOutcome[] {
  const outcomes = given.events.map((event) => recordEvent(db, event, given));
  const detail = outcomes.length === 1 ? given.detail : withEvents(given.detail, outcomes);
  insertRow(db, given.delivery, summary(outcomes), { detail, content });
  return outcomes;
}

/** Stores a handshake. */
export function recordHandshake(
  db: Database,
  delivery: Delivery,
  content: DeliveryContent,
): void {
  insertDelivery(db, delivery, content);
}

/** Stores rejected requests and unsigned handshakes; only the newest of each trigger and outcome stay. */
export function recordRejections(
  db: Database,
  rejections: readonly Rejection[],
  limits: RejectionLimits,
): void {
  const triggers = new Map<string, Delivery>();
  for (const { delivery, content } of rejections) {
    insertDelivery(db, delivery, content);
    triggers.set(`${delivery.outcome}\n${delivery.project}\n${delivery.trigger}`, delivery);
  }
  const old = (condition: string) =>
    `outcome = ?1 AND project = ?2 AND "trigger" = ?3 AND id <= (
       SELECT id FROM deliveries WHERE outcome = ?1 AND project = ?2 AND "trigger" = ?3
       ${condition} ORDER BY id DESC LIMIT 1 OFFSET ?4)`;
  for (const { outcome, project, trigger } of triggers.values()) {
    const of = [outcome, project, trigger] as const;
    db.run(`DELETE FROM deliveries WHERE ${old("")}`, ...of, limits.records);
    db.run(
      `UPDATE deliveries SET headers = NULL, body = NULL, url = NULL WHERE body IS NOT NULL AND
         ${old("AND body IS NOT NULL")}`,
      ...of,
      limits.contents,
    );
  }
}

const DELIVERY_COLUMNS =
  `id, project, "trigger", source, received_at, outcome, reason, status, remote,
  secret_store, secret_key, task_id, body_bytes, duration_ms, detail, via`;

/** Names its columns, because a migration adds new ones at the end of the table. */
const INSERT_DELIVERY = `INSERT INTO deliveries (${DELIVERY_COLUMNS}, headers, body, url)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Deliveries, in the order of the list. */
export function listDeliveries(db: Database, query: DeliveryQuery): Delivery[] {
  const { project, trigger, outcome, limit } = query;
  const rows = Object.assign({}, listRange(query, "received_at"), ownConditions(query));
  if (project === undefined) {
    if ((trigger ?? outcome) !== undefined) {
      return ofEachProject(db, "deliveries", query, listDeliveries);
    }
    const { clause, values } = where(rows);
    return listed(db, `${clause} ${ordered(query)} LIMIT ?`, [...values, limit]);
  }
  if (outcome === "failed") return listFailed(db, query, project);
  const ids = newestIds({
    table: "deliveries",
    index: trigger === undefined ? "deliveries_of_project" : "deliveries_of_trigger",
    column: "outcome",
    among: outcome === undefined
      ? DELIVERY_OUTCOMES
      : DELIVERY_OUTCOMES.filter((known) => known === outcome),
    conditions: Object.assign({ "project = ?": project, '"trigger" = ?': trigger }, rows),
    limit,
    oldestFirst: query.oldestFirst === true,
  });
  return listed(db, `WHERE id IN (${ids.sql}) ${ordered(query)}`, ids.values);
}

/** Conditions that no index answers: each row has to be looked at. */
function ownConditions({ reason, status, remote, key, minDurationMs }: DeliveryQuery) {
  return {
    "instr(lower(reason), lower(?)) > 0": reason,
    "status = ?": status,
    "remote = ?": remote,
    "secret_key = ?": key,
    "duration_ms >= ?": minDurationMs,
  };
}

/** Deliveries of which a task has failed. */
function listFailed(db: Database, query: DeliveryQuery, project: string): Delivery[] {
  const { trigger, limit } = query;
  const index = trigger === undefined ? "tasks_failed_of_project" : "tasks_failed_of_trigger";
  const own = where(Object.assign(
    { "received_at >= ?": query.since, "received_at <= ?": query.until },
    ownConditions(query),
  ));
  const found: Delivery[] = [];
  for (let rest = query; found.length < limit;) {
    const { clause, values } = where(Object.assign(
      { "project = ?": project, '"trigger" = ?': trigger },
      idRange(rest, "delivery_id"),
    ));
    const ids = db.all(
      `SELECT DISTINCT delivery_id AS id FROM tasks INDEXED BY ${index} ${clause}
         AND state = 'failed' ${ordered(query, "delivery_id")} LIMIT ?`,
      ...values,
      limit,
    ).map((row) => text(row, "id"));
    const last = ids.at(-1);
    if (last === undefined) break;
    rest = query.oldestFirst === true ? { ...rest, after: last } : { ...rest, before: last };
    found.push(...listed(
      db,
      `${own.clause === "" ? "WHERE" : `${own.clause} AND`}
         id IN (SELECT value FROM json_each(?)) ${ordered(query)}`,
      [...own.values, JSON.stringify(ids)],
    ));
  }
  return found.slice(0, limit);
}

function listed(db: Database, tail: string, values: readonly SqlValue[]): Delivery[] {
  return db.all(`SELECT ${DELIVERY_COLUMNS} FROM deliveries ${tail}`, ...values).map(toDelivery);
}

/** Deliveries whose id starts with `prefix`, at most two. */
export function findDeliveries(db: Database, prefix: string): Delivery[] {
  return listed(db, "WHERE id >= ? AND id < ? ORDER BY id LIMIT 2", [
    prefix,
    prefixEnd(prefix),
  ]);
}

/** Values of a header, newest first. */
export function listHeaderValues(
  db: Database,
  { project, header, since, before, limit }: HeaderQuery,
): HeaderPage {
  const { clause, values } = where({
    "id >= ?": oldestIdSince(since),
    "id < ?": before,
  });
  // The headers stand before the body, which is not read.
  const rows = db.all(
    `SELECT id, CASE WHEN project = ? AND outcome <> 'rejected'
       THEN json_extract(headers, ?) END AS value
     FROM deliveries ${clause} ORDER BY id DESC LIMIT ?`,
    project,
    `$.${JSON.stringify(header)}`,
    ...values,
    limit,
  );
  const last = rows.length < limit ? undefined : rows.at(-1);
  return {
    values: rows.flatMap(({ value }) => typeof value === "string" ? [value] : []),
    ...(last === undefined ? {} : { before: text(last, "id") }),
  };
}

function findDelivery(db: Database, id: string): Delivery | undefined {
  const row = db.get(`SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE id = ?`, id);
  return row === undefined ? undefined : toDelivery(row);
}

/** Outcomes of the events of a stored delivery. */
function outcomesOf({ detail, outcome, reason, taskId }: Delivery): readonly EventOutcome[] {
  if (detail.events !== undefined) return detail.events;
  if (outcome === "handshake" || outcome === "rejected") return [];
  return [{ outcome, reason, ...(taskId === "" ? {} : { taskId }) }];
}

/** A delivery with its content. */
export function readDelivery(db: Database, id: string): StoredDelivery | undefined {
  const row = db.get("SELECT * FROM deliveries WHERE id = ?", id);
  return row === undefined ? undefined : toStored(db, row);
}

/** Deliveries with their content, newest first. */
export function readDeliveries(db: Database, ids: readonly string[]): StoredDelivery[] {
  return db.all(
    "SELECT * FROM deliveries WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id DESC",
    JSON.stringify(ids),
  ).map((row) => toStored(db, row));
}

function toStored(db: Database, row: Row): StoredDelivery {
  const delivery = toDelivery(row);
  const kept = row["content_of"] === null ? row : readContent(db, text(row, "content_of"));
  if (kept === undefined || kept["headers"] === null) return { delivery };
  const headers = json(kept, "headers") as Record<string, string>;
  const url = kept["url"] === null ? "" : text(kept, "url");
  return { delivery, content: { headers, body: bytes(kept, "body"), url } };
}

function readContent(db: Database, id: string): Row | undefined {
  return db.get("SELECT headers, body, url FROM deliveries WHERE id = ?", id);
}

/** What a delivery came to. */
type Summary = Pick<Delivery, "outcome" | "reason" | "taskId">;

/** Outcome of the whole delivery: the best of its events. */
function summary(outcomes: readonly EventOutcome[]): Summary {
  const best = bestOf(outcomes);
  return {
    outcome: best?.outcome ?? "filtered",
    reason: outcomes.length === 1 ? best?.reason ?? "" : countsText(outcomes),
    taskId: best?.taskId ?? "",
  };
}

/** Stores the record of a delivery as it is. */
export function insertDelivery(
  db: Database,
  delivery: Delivery,
  content: DeliveryContent | undefined,
): void {
  insertRow(db, delivery, delivery, {
    detail: JSON.stringify(delivery.detail),
    content: content === undefined
      ? undefined
      : { ...content, headers: JSON.stringify(content.headers) },
  });
}

function insertRow(
  db: Database,
  delivery: Omit<Delivery, keyof Summary | "detail">,
  { outcome, reason, taskId }: Summary,
  { detail, content }: { detail: string; content: ArrivedContent | undefined },
): void {
  db.run(
    INSERT_DELIVERY,
    delivery.id,
    delivery.project,
    delivery.trigger,
    delivery.source,
    delivery.receivedAt,
    outcome,
    storable(reason),
    delivery.status,
    delivery.remote,
    delivery.secretStore,
    delivery.secretKey,
    taskId,
    delivery.bodyBytes,
    delivery.durationMs,
    detail,
    delivery.via,
    content?.headers ?? null,
    content?.body ?? null,
    content?.url ?? null,
  );
}

function toDelivery(row: Row): Delivery {
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
