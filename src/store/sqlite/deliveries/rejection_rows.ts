/**
 * Rejected requests, in the table `deliveries`.
 *
 * @module
 */

import type { Delivery, Rejection, RejectionLimits } from "../../delivery_records.ts";
import { storeDelivery } from "../../transactions/record_delivery.ts";
import type { Database } from "../engine/database.ts";
import { rowsOf } from "./sqlite_delivery_rows.ts";

/** Stores rejected requests and unsigned handshakes; only the newest of each trigger and outcome stay. */
export function recordRejections(
  db: Database,
  rejections: readonly Rejection[],
  limits: RejectionLimits,
): void {
  const rows = rowsOf(db);
  const triggers = new Map<string, Delivery>();
  for (const { delivery, content } of rejections) {
    storeDelivery(rows, delivery, content);
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
