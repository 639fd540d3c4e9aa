/**
 * The table `deliveries`: what arrived, and what became of it.
 *
 * @module
 */

import type {
  Delivery,
  DeliveryContent,
  DeliveryOutcome,
  ListQuery,
  NewDelivery,
} from "../store.ts";
import { number, text } from "./columns.ts";
import type { Database, Row } from "./database.ts";
import { prefixEnd, where } from "./queries.ts";
import { insertTask } from "./task_rows.ts";

/** Stores a delivery and the task it starts. */
export function recordDelivery(db: Database, { delivery, content, task }: NewDelivery): void {
  insert(db, delivery, content);
  if (task !== undefined) insertTask(db, task, delivery);
}

/** Stores refused requests; of each trigger only the newest `keep` stay. */
export function recordRejections(
  db: Database,
  rejections: readonly Delivery[],
  keep: number,
): void {
  const triggers = new Map<string, Delivery>();
  for (const rejection of rejections) {
    insert(db, rejection, undefined);
    triggers.set(`${rejection.project}\n${rejection.trigger}`, rejection);
  }
  for (const { project, trigger } of triggers.values()) {
    db.run(
      `DELETE FROM deliveries WHERE outcome = 'rejected' AND project = ?1 AND "trigger" = ?2 AND id <= (
         SELECT id FROM deliveries WHERE outcome = 'rejected' AND project = ?1 AND "trigger" = ?2
         ORDER BY id DESC LIMIT 1 OFFSET ?3)`,
      project,
      trigger,
      keep,
    );
  }
}

const LISTED =
  `id, project, "trigger", source, received_at, outcome, reason, status, remote, secret_key,
  task_id, body_bytes, duration_ms`;

/** Newest first. */
export function listDeliveries(db: Database, query: ListQuery): Delivery[] {
  const { clause, values } = where({ project: query.project, '"trigger"': query.trigger });
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

function insert(db: Database, delivery: Delivery, content: DeliveryContent | undefined): void {
  db.run(
    "INSERT INTO deliveries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    delivery.id,
    delivery.project,
    delivery.trigger,
    delivery.source,
    delivery.receivedAt,
    delivery.outcome,
    delivery.reason,
    delivery.status,
    delivery.remote,
    delivery.secretKey,
    delivery.taskId,
    delivery.bodyBytes,
    delivery.durationMs,
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
    secretKey: text(row, "secret_key"),
    taskId: text(row, "task_id"),
    bodyBytes: number(row, "body_bytes"),
    durationMs: number(row, "duration_ms"),
  };
}
