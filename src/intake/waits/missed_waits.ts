/**
 * Why events do not end open waits, for the operator who expected otherwise: of a delivery, which waits it
 * came near to ending; of a wait, which deliveries came near. Decides nothing.
 *
 * @module
 */

import type { Evaluator } from "../../cel/evaluator.ts";
import type { StoredDelivery } from "../../store/delivery_records.ts";
import type { DeliveryStore } from "../../store/delivery_store.ts";
import type { ListedWait, WaitPart } from "../../store/wait_records.ts";
import type { AskedEvent } from "../../tasks/asked_event.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import { judgeEvent, type Matching, textsOf, whyNotNew } from "./match_event.ts";
import { eventsSeen, type SeenEvent, WAITED_OUTCOMES } from "./seen_events.ts";

/** An open wait, and what kept an event from ending it. */
export interface MissedWait {
  readonly taskId: string;
  readonly step: string;
  /** Words that follow "does not end the wait:"; texts of the event in it are cut. */
  readonly why: string;
}

/** A delivery that came near to ending an open wait. */
export interface NearMiss {
  readonly deliveryId: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** As {@linkcode MissedWait.why}. */
  readonly why: string;
}

/** What an open wait has seen of the events of a trigger. */
export interface LookedAtWait {
  /** How many of the newest deliveries were looked at; absent if the trigger was deleted, or is broken. */
  readonly looked?: number;
  /** The nearest of them first, one for each reason. */
  readonly misses: readonly NearMiss[];
}

/** Most of them, the nearest first, and most that are looked at. */
const MOST = { shown: 5, waits: 50, events: 20, deliveries: 20, bytes: 4 * 1024 * 1024, misses: 3 };
/** Most characters of a text of the event. */
const MAX_TEXT = 100;

/** Those waits; none where no event of the delivery can end one. */
export async function missedWaits(
  stored: StoredDelivery,
  trigger: ActiveTrigger,
  { waits, evaluator }: { readonly waits: readonly ListedWait[]; readonly evaluator: Evaluator },
): Promise<readonly MissedWait[]> {
  const { project, name } = trigger.resource;
  const matching = { evaluator, share: `waits of ${project}/${name}` };
  const events = eventsOf(stored, trigger);
  const missed: (MissedWait & { readonly distance: number })[] = [];
  const here = waits.filter(({ key, project: of }) => key?.trigger === name && of === project);
  for (const { taskId, step, asked = {} } of here.slice(0, MOST.waits)) {
    if (!isOfEvents(asked)) continue;
    const nearest = await nearestOf(events, { taskId, asked }, matching);
    if (nearest !== undefined && nearest.distance > 0) missed.push({ taskId, step, ...nearest });
  }
  return missed.toSorted(byDistance).slice(0, MOST.shown)
    .map(({ taskId, step, why }) => ({ taskId, step, why }));
}

/**
 * The newest deliveries of its trigger that came near to ending a part of a wait; `undefined` for one that
 * events do not end by expressions.
 *
 * @param trigger as it is applied now; `undefined` if it is gone.
 */
export async function nearMisses(
  { project, taskId, key, asked = {} }:
    & Pick<ListedWait, "project" | "taskId">
    & Pick<WaitPart, "key" | "asked">,
  trigger: ActiveTrigger | undefined,
  { store, evaluator }: {
    readonly store: Pick<DeliveryStore, "listDeliveries" | "readDeliveries">;
    readonly evaluator: Evaluator;
  },
): Promise<LookedAtWait | undefined> {
  if (key === undefined || !isOfEvents(asked)) return undefined;
  if (trigger === undefined) return { misses: [] };
  const newest = await store.listDeliveries({
    project,
    trigger: key.trigger,
    outcomes: WAITED_OUTCOMES,
    limit: MOST.deliveries,
  });
  let bytes = 0;
  const ids = newest.filter(({ bodyBytes }) => (bytes += bodyBytes) <= MOST.bytes)
    .map(({ id }) => id);
  const matching = { evaluator, share: `waits of ${project}/${key.trigger}` };
  const found = new Map<string, NearMiss & { readonly distance: number }>();
  for (const stored of await store.readDeliveries(ids)) { // newest first
    const nearest = await nearestOf(eventsOf(stored, trigger), { taskId, asked }, matching);
    if (nearest === undefined || nearest.distance === 0 || found.has(nearest.why)) continue;
    const { id: deliveryId, receivedAt } = stored.delivery;
    found.set(nearest.why, { deliveryId, receivedAt, ...nearest });
  }
  const misses = [...found.values()].toSorted(byDistance).slice(0, MOST.misses)
    .map(({ deliveryId, receivedAt, why }) => ({ deliveryId, receivedAt, why }));
  return { looked: ids.length, misses };
}

interface Distance {
  readonly distance: number;
  readonly why: string;
}

const byDistance = (a: Distance, b: Distance) => a.distance - b.distance;

const eventsOf = (stored: StoredDelivery, trigger: ActiveTrigger) =>
  eventsSeen(stored, trigger, WAITED_OUTCOMES)
    .filter(({ outcome }) => outcome !== "duplicate").slice(0, MOST.events);

/** Whether a part asks for events by expressions; others have a matcher of their own. */
function isOfEvents(asked: object): asked is AskedEvent {
  const { expressions, texts } = asked as Partial<AskedEvent>;
  return expressions !== undefined && texts !== undefined;
}

/** Of these events that which is nearest to ending a wait. */
async function nearestOf(
  events: readonly SeenEvent[],
  open: { readonly taskId: string; readonly asked: AskedEvent },
  matching: Matching,
): Promise<Distance | undefined> {
  const all: Distance[] = [];
  for (const event of events) all.push(await distanceOf(event, open, matching));
  return all.toSorted(byDistance)[0];
}

/** How far an event is from the end of a wait, and why; 0 for one that ends it. */
async function distanceOf(
  event: SeenEvent,
  { taskId, asked }: { readonly taskId: string; readonly asked: AskedEvent },
  matching: Matching,
): Promise<Distance> {
  const found = await textsOf(asked.expressions, event, matching);
  const differ = asked.expressions.flatMap((expression, at) => {
    const [is, wants] = [found[at], asked.texts[at]];
    return is === wants ? [] : [`${expression} is ${shown(is)}, and it wants ${shown(wants)}`];
  });
  if (differ.length > 0) return { distance: 2 + differ.length, why: differ.join("; ") };
  const why = whyNotNew(event, asked, taskId);
  if (why !== undefined) return { distance: 2, why };
  const judged = await judgeEvent(event, { asked: { ...asked }, taskId }, matching);
  return "whyNot" in judged
    ? { distance: 1, why: `its condition ${judged.whyNot}` }
    : { distance: 0, why: "" };
}

function shown(text: string | undefined): string {
  if (text === undefined) return "no text";
  const cut = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
  return JSON.stringify(cut.toWellFormed());
}
