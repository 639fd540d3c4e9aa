/**
 * The event of a delivery, as its platform names it in a header.
 *
 * @module
 */

import type { DeliveryRecord } from "../../../../src/api/records.ts";
import { Text } from "../../parts/text.tsx";

/** The event of a delivery; if no header names it, the source of the delivery. */
export function EventCell({ delivery: { event, source } }: {
  readonly delivery: DeliveryRecord;
}) {
  return event === null ? <span class="faint">{source}</span> : <Text value={event} cell />;
}
