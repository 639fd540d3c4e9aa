/**
 * Deliveries in words: a line of a choice, and a sentence for an outcome.
 *
 * @module
 */

import type { DeliveryRecord } from "../../../src/api/records.ts";
import { ageOf } from "../parts/age.ts";
import { shortId } from "../parts/short_id.tsx";
import { now } from "../parts/time.tsx";

/** A delivery as an option of a select: its time, its outcome and the end of its id. */
export function choiceOf({ id, received_at, outcome }: DeliveryRecord): string {
  return `${ageOf(now.value - Date.parse(received_at))} · ${outcome} · ${shortId(id)}`;
}

const BECAME: Readonly<Record<string, string>> = {
  accepted: "was accepted",
  duplicate: "is a duplicate",
  skipped: "was skipped",
  filtered: "was filtered out",
  handshake: "was a handshake",
  rejected: "was rejected",
};

/** The outcome of a delivery as a sentence without its full stop. */
export function titleOf({ trigger, outcome }: DeliveryRecord): string {
  const to = trigger === "" ? "no trigger" : trigger;
  return `Delivery to ${to} ${BECAME[outcome] ?? outcome}`;
}
