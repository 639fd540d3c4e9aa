/**
 * Finds a stored delivery.
 *
 * @module
 */

import type { Delivery, StoredDelivery } from "../../store/delivery_records.ts";
import { findRecord, recordType } from "../records/records.ts";
import type { RecordStore } from "../records/record_type.ts";

/**
 * A delivery with its content.
 *
 * @throws {AppError} `not_found` when there is none.
 */
export async function findStored(id: string, store: RecordStore): Promise<StoredDelivery> {
  const found = await findRecord(recordType("delivery"), id, store) as Delivery;
  return await store.readDelivery(found.id) ?? { delivery: found };
}
