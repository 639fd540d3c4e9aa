/**
 * The event that a delivery brought, as its platform names it in a header.
 *
 * @module
 */

import type { DeliveryRecord } from "../../../../src/api/records.ts";
import { call, Refusal } from "../../data/api.ts";
import { lookup, useLookup } from "../../data/lookups.ts";
import { eventHeader, eventOf } from "../../data/deliveries.ts";
import { whyNot } from "../../parts/rights.ts";
import { Text } from "../../parts/text.tsx";

/** By id of the delivery: records have the names of headers only. */
const events = lookup(async (id, signal) => {
  try {
    const { headers } = await call("delivery.show", { id }, signal);
    return eventOf(headers);
  } catch (thrown) {
    if (thrown instanceof Refusal && thrown.code === "not_found") return ""; // they were not kept
    throw thrown;
  }
});

/** The event of a row; where no header names it, what brought it. */
export function EventCell({ delivery: { id, header_names, source, body_deleted_at } }: {
  readonly delivery: DeliveryRecord;
}) {
  const isNamed = eventHeader(header_names) !== undefined && body_deleted_at === undefined &&
    whyNot("operator") === undefined;
  const event = useLookup(isNamed ? id : undefined, events);
  return event === undefined || event === ""
    ? <span class="faint">{isNamed && event === undefined ? "…" : source}</span>
    : <Text value={event} cell />;
}
