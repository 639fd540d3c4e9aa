/**
 * Rejected requests and unsigned handshakes in the table `deliveries`, of which only the newest stay.
 *
 * @module
 */

import type { Rejection, RejectionLimits } from "../../delivery_records.ts";
import { storeDelivery } from "../../transactions/record_delivery.ts";
import type { Session } from "../database/connections.ts";
import { listed } from "../database/newest.ts";
import { changeTasks } from "../working_set/change_tasks.ts";

/** Stores them; only the newest of each trigger and outcome stay. */
export async function recordRejections(
  db: Session,
  rejections: readonly Rejection[],
  limits: RejectionLimits,
): Promise<void> {
  await changeTasks(db, () => {}, (set) => {
    for (const { delivery, content } of rejections) storeDelivery(set, delivery, content);
  });
  const triggers = rejections.map(({ delivery }) => delivery);
  const of = [
    triggers.map(({ outcome }) => outcome),
    triggers.map(({ project }) => project),
    triggers.map(({ trigger }) => trigger),
  ] as const;
  await db.run(
    `DELETE FROM deliveries WHERE id IN (${olderThanNewest("")})`,
    ...of,
    limits.records,
  );
  await db.run(
    `UPDATE deliveries SET headers = NULL, body = NULL, url = NULL
       WHERE id IN (${olderThanNewest("AND body IS NOT NULL")})`,
    ...of,
    limits.contents,
  );
}

/** Ids of all but the newest of some triggers; what another daemon changes just now is left to it. */
const olderThanNewest = (condition: string) =>
  `SELECT id FROM deliveries WHERE id IN (
     SELECT old.id FROM (
       SELECT DISTINCT * FROM unnest(?::text[], ?::text[], ?::text[]) AS one (outcome, project, "trigger")
     ) AS one CROSS JOIN LATERAL (
       SELECT id FROM deliveries WHERE outcome = one.outcome AND project = one.project
         AND "trigger" = one."trigger" ${condition} ORDER BY ${listed("id")} DESC OFFSET ?
     ) AS old
   ) FOR UPDATE SKIP LOCKED`;
