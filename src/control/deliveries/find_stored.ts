/**
 * Finds a stored delivery by the beginning of its id, which is how commands name it.
 *
 * @module
 */

import type { Delivery, StoredDelivery } from "../../store/delivery_records.ts";
import { findRecord, findRecordType } from "../records/records.ts";
import type { RecordStore } from "../records/record_type.ts";

/**
 * A delivery with its content.
 *
 * @throws {AppError} `not_found` when there is none; `usage` when several ids begin so.
 */
export async function findStored(id: string, store: RecordStore): Promise<StoredDelivery> {
  const type = findRecordType("delivery");
  if (type === undefined) throw new Error("Deliveries are a record");
  const found = await findRecord(type, id, store) as Delivery;
  return await store.readDelivery(found.id) ?? { delivery: found };
}
