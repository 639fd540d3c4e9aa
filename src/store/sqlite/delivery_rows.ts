/**
 * The table `deliveries`: what arrived, and what became of it. Recording one decides, in the same
 * transaction as its tasks, which of its events have been seen before.
 *
 * @module
 */

import type {
  Delivery,
  DeliveryContent,
  DeliveryDetail,
  DeliveryOutcome,
  DeliveryQuery,
  EventOutcome,
  NewDelivery,
  Rejection,
  RejectionLimits,
  StoredDelivery,
} from "../delivery_records.ts";
import { bytes, json, number, storable, text } from "./columns.ts";
import type { Database, Row } from "./database.ts";
import { findDuplicate, rememberKey } from "./dedup_rows.ts";
import { prefixEnd, where } from "./queries.ts";
import { insertTask } from "./task_rows.ts";

/** Stores a delivery and the tasks of those of its events that are new. */
export function recordDelivery(db: Database, given: NewDelivery): readonly EventOutcome[] {
  const outcomes = given.events.map((event): EventOutcome => {
    if (event.outcome !== "accepted") return event;
    const { task, note = "" } = event;
    const first = findDuplicate(db, task, given.delivery.receivedAt - given.dedupWindowMs);
    if (first !== undefined) {
      const reason = `seen before, in delivery ${first.deliveryId}`;
      return { outcome: "duplicate", reason, taskId: first.taskId, duplicateOf: first.deliveryId };
    }
    insertTask(db, task, given.delivery);
    rememberKey(db, task, given.delivery);
    return { outcome: "accepted", reason: note, taskId: task.id };
  });
  insert(db, { ...given.delivery, ...summary(given.delivery.detail, outcomes) }, given.content);
  return outcomes;
}

/** Stores a greeting. */
export function recordHandshake(
  db: Database,
  delivery: Delivery,
  content: DeliveryContent,
): void {
  insert(db, delivery, content);
}

/** Stores refused requests; of each trigger only the newest stay. */
export function recordRejections(
  db: Database,
  rejections: readonly Rejection[],
  limits: RejectionLimits,
): void {
  const triggers = new Map<string, Delivery>();
  for (const { delivery, content } of rejections) {
    insert(db, delivery, content);
    triggers.set(`${delivery.project}\n${delivery.trigger}`, delivery);
  }
  const old = (offset: string, condition: string) =>
    `outcome = 'rejected' AND project = ?1 AND "trigger" = ?2 AND id <= (
       SELECT id FROM deliveries WHERE outcome = 'rejected' AND project = ?1 AND "trigger" = ?2
       ${condition} ORDER BY id DESC LIMIT 1 OFFSET ${offset})`;
  for (const { project, trigger } of triggers.values()) {
    db.run(`DELETE FROM deliveries WHERE ${old("?3", "")}`, project, trigger, limits.records);
    db.run(
      `UPDATE deliveries SET headers = NULL, body = NULL WHERE body IS NOT NULL AND
         ${old("?3", "AND body IS NOT NULL")}`,
      project,
      trigger,
      limits.contents,
    );
  }
}

const LISTED = `id, project, "trigger", source, received_at, outcome, reason, status, remote,
  secret_store, secret_key, task_id, body_bytes, duration_ms, detail`;

const HAS_TASK_IN_STATE = `? IN (
  SELECT state FROM tasks WHERE tasks.id = deliveries.task_id UNION
  SELECT state FROM json_each(deliveries.detail, '$.events') AS event
    JOIN tasks ON tasks.id = event.value ->> 'taskId')`;

/** Newest first. */
export function listDeliveries(db: Database, query: DeliveryQuery): Delivery[] {
  const { clause, values } = where({
    "project = ?": query.project,
    '"trigger" = ?': query.trigger,
    "received_at >= ?": query.since,
    "id < ?": query.before,
    ...(query.outcome === "failed"
      ? { [HAS_TASK_IN_STATE]: "failed" }
      : { "outcome = ?": query.outcome }),
  });
  return db.all(
    `SELECT ${LISTED} FROM deliveries ${clause} ORDER BY id DESC LIMIT ?`,
    ...values,
    query.limit,
  ).map(toDelivery);
}

/** At most two of those whose id starts with `prefix`. */
export function findDeliveries(db: Database, prefix: string): Delivery[] {
  return db.all(
    `SELECT ${LISTED} FROM deliveries WHERE id >= ? AND id < ? ORDER BY id LIMIT 2`,
    prefix,
    prefixEnd(prefix),
  ).map(toDelivery);
}

/** One delivery with what arrived. */
export function readDelivery(db: Database, id: string): StoredDelivery | undefined {
  const row = db.get("SELECT * FROM deliveries WHERE id = ?", id);
  if (row === undefined) return undefined;
  const delivery = toDelivery(row);
  if (row["headers"] === null) return { delivery };
  const headers = json(row, "headers") as Record<string, string>;
  return { delivery, content: { headers, body: bytes(row, "body") } };
}

/** The record as a whole: the best that became of any of its events. */
function summary(
  detail: DeliveryDetail,
  outcomes: readonly EventOutcome[],
): Pick<Delivery, "outcome" | "reason" | "taskId" | "detail"> {
  const order = ["accepted", "duplicate", "filtered", "skipped"] as const;
  const best = order.find((outcome) => outcomes.some((one) => one.outcome === outcome)) ??
    "filtered";
  const [first] = outcomes.filter((one) => one.outcome === best);
  const counts = order.map((outcome) => ({
    outcome,
    n: outcomes.filter((one) => one.outcome === outcome).length,
  })).filter(({ n }) => n > 0);
  return {
    outcome: best,
    reason: outcomes.length === 1
      ? first?.reason ?? ""
      : counts.map(({ outcome, n }) => `${n} ${outcome}`).join(", "),
    taskId: first?.taskId ?? "",
    detail: outcomes.length === 1 ? detail : { ...detail, events: outcomes },
  };
}

function insert(db: Database, delivery: Delivery, content: DeliveryContent | undefined): void {
  db.run(
    "INSERT INTO deliveries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    delivery.id,
    delivery.project,
    delivery.trigger,
    delivery.source,
    delivery.receivedAt,
    delivery.outcome,
    storable(delivery.reason),
    delivery.status,
    delivery.remote,
    delivery.secretStore,
    delivery.secretKey,
    delivery.taskId,
    delivery.bodyBytes,
    delivery.durationMs,
    JSON.stringify(delivery.detail),
    content === undefined ? null : JSON.stringify(content.headers),
    content === undefined ? null : content.body,
  );
}

function toDelivery(row: Row): Delivery {
  return {
    id: text(row, "id"),
    project: text(row, "project"),
    trigger: text(row, "trigger"),
    source: text(row, "source"),
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
