/**
 * Deliveries as a type of record.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import {
  type Delivery,
  DELIVERY_FILTERS,
  type DeliveryQuery,
} from "../../store/delivery_records.ts";
import type { DeliveryStore } from "../../store/delivery_store.ts";
import type { RecordQuery, RecordType } from "./record_type.ts";
import { deliveryColumns, deliveryView } from "./views.ts";

/** Deliveries, for `svc get`. */
export const DELIVERIES: RecordType<Delivery, "delivery", DeliveryStore> = {
  name: "delivery",
  list: (store, query) => store.listDeliveries(toDeliveryQuery(query)),
  find: (store, prefix) => store.findDeliveries(prefix),
  id: (delivery) => delivery.id,
  view: deliveryView,
  columns: deliveryColumns,
  filters: [
    "trigger",
    "outcome",
    "before",
    "after",
    "until",
    "reason",
    "status",
    "remote",
    "key",
    "min_duration_ms",
  ],
  searched: ["reason", "status", "remote", "key", "minDurationMs"],
};

/**
 * A query for deliveries.
 *
 * @throws {AppError} `usage` for an outcome that deliveries do not have.
 */
export function toDeliveryQuery(
  { outcome, state: _none, workflow: _nor, ...query }: RecordQuery,
): DeliveryQuery {
  if (outcome === undefined) return query;
  const found = DELIVERY_FILTERS.find((known) => known === outcome);
  if (found !== undefined) return { ...query, outcome: found };
  throw new AppError(
    "usage",
    `Unknown outcome "${outcome}": use one of ${DELIVERY_FILTERS.join(", ")}`,
  );
}
