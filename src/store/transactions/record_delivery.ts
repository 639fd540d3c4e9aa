/**
 * Stores a delivery with what its events come to, each of which `record_event.ts` records.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import type { DedupTimes } from "../../resources/dedup_times.ts";
import {
  bestOf,
  countsText,
  type Delivery,
  type DeliveryContent,
  type DeliveryDetail,
  type EventOutcome,
  type NewDeliveries,
  type NewDelivery,
} from "../delivery_records.ts";
import { recordEvent } from "./record_event.ts";
import type {
  DeliveryFacts,
  DeliveryRows,
  DeliverySummary,
  OwnContent,
  SharedContent,
} from "./task_rows.ts";

/** A delivery of which everything that is stored as JSON is JSON already. */
export interface ArrivedDelivery extends Omit<NewDelivery, "delivery" | "content"> {
  readonly delivery: DeliveryFacts;
  /** {@linkcode DeliveryDetail} as JSON. */
  readonly detail: string;
  readonly content: OwnContent;
}

/** Stores a delivery, and the tasks of those of its events that are new and have room. */
export function recordDelivery(rows: DeliveryRows, given: NewDelivery): readonly EventOutcome[] {
  const { delivery, content } = given;
  const detail = JSON.stringify(delivery.detail);
  return recordArrived(rows, { ...given, detail, content: toKept(content) });
}

/** As `recordDelivery`, for a delivery whose JSON is made already. */
export function recordArrived(
  rows: DeliveryRows,
  given: ArrivedDelivery,
): readonly EventOutcome[] {
  const known = given.once === true ? rows.findSummary(given.delivery.id) : "none";
  if (known !== "none") return outcomesOf(known);
  const outcomes = recordEvents(rows, given, given.content);
  if (given.cursor !== undefined) rows.moveCursor(given.cursor);
  return outcomes;
}

/**
 * Stores one request as several triggers get it. The last row keeps the content, for the others as
 * well: retention comes to it last, when no other needs it any more.
 */
export function recordDeliveries(
  rows: DeliveryRows,
  { deliveries, content, dedupWindowMs, dedupKeepMs }: NewDeliveries,
): readonly (readonly EventOutcome[])[] {
  const kept = toKept(content);
  const last = deliveries.at(-1)?.delivery.id ?? "";
  return deliveries.map(({ delivery, events }) => {
    const detail = JSON.stringify(delivery.detail);
    const given = { delivery, events, dedupWindowMs, dedupKeepMs, detail };
    return recordEvents(rows, given, delivery.id === last ? kept : { contentOf: last });
  });
}

/** Stores a delivery as it is: a handshake, a rejected request, or one whose event is kept. */
export function storeDelivery(
  rows: DeliveryRows,
  delivery: Delivery,
  content: DeliveryContent | undefined,
): void {
  const { outcome, reason, taskId } = delivery;
  const detail = JSON.stringify(delivery.detail);
  const kept = content === undefined ? undefined : toKept(content);
  rows.insertDelivery(delivery, { outcome, reason, taskId, detail }, kept);
}

function toKept({ headers, body, url }: DeliveryContent): OwnContent {
  return { headers: JSON.stringify(headers), body, url };
}

function recordEvents(
  rows: DeliveryRows,
  given: Pick<ArrivedDelivery, "delivery" | "events" | "detail" | keyof DedupTimes>,
  content: OwnContent | SharedContent,
): readonly EventOutcome[] {
  const outcomes = given.events.map((event) => recordEvent(rows, event, given));
  rows.insertDelivery(given.delivery, summarize(outcomes, given.detail), content);
  return outcomes;
}

/** The outcome of the whole delivery, the best of its events; several are kept with it. */
function summarize(outcomes: readonly EventOutcome[], detail: string): DeliverySummary {
  const best = bestOf(outcomes);
  const isOne = outcomes.length === 1;
  const { why, isMessage } = best ?? {};
  const hasFacts = !isOne || why !== undefined || isMessage !== undefined;
  const facts = isOne ? defined({ why, isMessage }) : { events: outcomes };
  return {
    outcome: best?.outcome ?? "filtered",
    reason: isOne ? best?.reason ?? "" : countsText(outcomes),
    taskId: best?.taskId ?? "",
    detail: hasFacts ? withFacts(detail, facts) : detail,
  };
}

function withFacts(
  detail: string,
  facts: Pick<DeliveryDetail, "events" | "why" | "isMessage">,
): string {
  return JSON.stringify({ ...JSON.parse(detail) as DeliveryDetail, ...facts });
}

/** Outcomes of the events of a stored delivery. */
function outcomesOf({ outcome, reason, taskId, detail }: DeliverySummary): readonly EventOutcome[] {
  const { events, isMessage } = JSON.parse(detail) as DeliveryDetail;
  if (events !== undefined) return events;
  if (outcome === "handshake" || outcome === "rejected") return [];
  return [{ outcome, reason, ...(taskId === "" ? {} : { taskId }), ...defined({ isMessage }) }];
}
