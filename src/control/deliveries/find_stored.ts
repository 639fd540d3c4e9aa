/**
 * A stored delivery by the beginning of its id, as the commands name it.
 *
 * @module
 */

import type { Delivery, StoredDelivery } from "../../store/delivery_records.ts";
import type { Store } from "../../store/store.ts";
import { findRecord, findRecordType } from "../records/records.ts";

/**
 * A delivery with its content.
 *
 * @throws {AppError} `not_found` when there is none; `usage` when several ids begin so.
 */
export async function findStored(id: string, store: Store): Promise<StoredDelivery> {
  const type = findRecordType("delivery");
  if (type === undefined) throw new Error("Deliveries are a record");
  const found = await findRecord(type, id, store) as Delivery;
  return await store.readDelivery(found.id) ?? { delivery: found };
}
