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
  type DeliveryContent,
  type EventOutcome,
  type NewDeliveries,
  type NewDelivery,
  type Rejection,
  type RejectionLimits,
} from "../../delivery_records.ts";
import { storable } from "../../sql/columns.ts";
import { DELIVERY_COLUMNS, toDelivery } from "../../sql/deliveries.ts";
import { moveCursor } from "./cursor_rows.ts";
import type { Database } from "../engine/database.ts";
import { recordEvent } from "./event_rows.ts";
import { type ArrivedContent, type ArrivedDelivery, withEvents } from "./packed_delivery.ts";

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

/** Names its columns, because a migration adds new ones at the end of the table. */
const INSERT_DELIVERY = `INSERT INTO deliveries (${DELIVERY_COLUMNS}, headers, body, url)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

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
