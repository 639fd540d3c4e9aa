/**
 * The event that a delivery brought, as its platform names it in a header.
 *
 * @module
 */

import type { DeliveryRecord } from "../../../../src/api/records.ts";
import { call } from "../../data/api.ts";
import { asked, useAsked } from "../../data/asked.ts";
import { eventHeader, eventOf } from "../../data/deliveries.ts";
import { whyNot } from "../../parts/rights.ts";
import { Text } from "../../parts/text.tsx";

/** By id of the delivery: records have the names of headers only. */
const events = asked(async (id, signal) => {
  const { headers } = await call("delivery.show", { id }, signal);
  return eventOf(headers);
});

/** The event of a row; where no header names it, what brought it. */
export function EventCell({ delivery: { id, header_names, source } }: {
  readonly delivery: DeliveryRecord;
}) {
  const isNamed = eventHeader(header_names) !== undefined && whyNot("operator") === undefined;
  const event = useAsked(isNamed ? id : undefined, events);
  return event === undefined || event === ""
    ? <span class="faint">{isNamed && event === undefined ? "…" : source}</span>
    : <Text value={event} cell />;
}
