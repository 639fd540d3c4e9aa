/**
 * The table `deliveries`: one row, and what came of it.
 *
 * @module
 */

import type { Found } from "../../rules/needs.ts";
import { storable } from "../../sql/columns.ts";
import { DELIVERY_COLUMNS, SUMMARY_COLUMNS, toSummary } from "../../sql/deliveries.ts";
import type {
  DeliveryFacts,
  DeliverySummary,
  KeptContent,
  KeptElsewhere,
} from "../../transactions/task_rows.ts";
import type { Database } from "../engine/database.ts";

/** What came of a delivery, if it is stored. */
export function findSummary(db: Database, deliveryId: string): Found<DeliverySummary> {
  const row = db.get(`SELECT ${SUMMARY_COLUMNS} FROM deliveries WHERE id = ?`, deliveryId);
  return row === undefined ? "none" : toSummary(row);
}

/** Names its columns, because a migration adds new ones at the end of the table. */
const INSERT_DELIVERY =
  `INSERT INTO deliveries (${DELIVERY_COLUMNS}, headers, body, url, content_of)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Stores a delivery; without content where what arrived is not kept. */
export function insertDelivery(
  db: Database,
  facts: DeliveryFacts,
  { summary, content }: {
    readonly summary: DeliverySummary;
    readonly content: KeptContent | KeptElsewhere | undefined;
  },
): void {
  const elsewhere = content !== undefined && "contentOf" in content ? content : undefined;
  const kept = content !== undefined && "body" in content ? content : undefined;
  db.run(
    INSERT_DELIVERY,
    facts.id,
    facts.project,
    facts.trigger,
    facts.source,
    facts.receivedAt,
    summary.outcome,
    storable(summary.reason),
    facts.status,
    facts.remote,
    facts.secretStore,
    facts.secretKey,
    summary.taskId,
    facts.bodyBytes,
    facts.durationMs,
    summary.detail,
    facts.via,
    kept?.headers ?? null,
    kept?.body ?? null,
    kept?.url ?? null,
    elsewhere?.contentOf ?? null,
  );
}
