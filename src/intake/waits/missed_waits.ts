/**
 * The open waits at the trigger of a delivery that its events do not end, and why not: for the operator who
 * expected otherwise. Decides nothing.
 *
 * @module
 */

import type { Evaluator } from "../../cel/evaluator.ts";
import type { StoredDelivery } from "../../store/delivery_records.ts";
import type { ListedWait } from "../../store/wait_records.ts";
import type { AskedEvent } from "../../tasks/asked_event.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import { isInSpan, judgeEvent, type Matching, textsOf } from "./match_event.ts";
import { eventsSeen, type SeenEvent, WAITED_OUTCOMES } from "./seen_events.ts";

/** An open wait, and what kept an event from ending it. */
export interface MissedWait {
  readonly taskId: string;
  readonly step: string;
  /** Words that follow "does not end the wait:"; texts of the event in it are cut. */
  readonly why: string;
}

/** Most of them, the nearest first, and most that are looked at. */
const MOST = { shown: 5, waits: 50, events: 20 };
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
  const events = eventsSeen(stored, trigger, WAITED_OUTCOMES)
    .filter(({ outcome }) => outcome !== "duplicate").slice(0, MOST.events);
  const missed: (MissedWait & { readonly distance: number })[] = [];
  const here = waits.filter(({ key, project: of }) => key?.trigger === name && of === project);
  for (const { taskId, step, asked = {} } of here.slice(0, MOST.waits)) {
    const wanted = asked as unknown as Partial<AskedEvent>;
    if (wanted.expressions === undefined || wanted.texts === undefined) continue;
    const all: { readonly distance: number; readonly why: string }[] = [];
    const open = { taskId, asked: wanted as AskedEvent };
    for (const event of events) all.push(await distanceOf(event, open, matching));
    const [nearest] = all.toSorted((a, b) => a.distance - b.distance);
    if (nearest !== undefined && nearest.distance > 0) missed.push({ taskId, step, ...nearest });
  }
  return missed.toSorted((a, b) => a.distance - b.distance).slice(0, MOST.shown)
    .map(({ taskId, step, why }) => ({ taskId, step, why }));
}

/** How far an event is from the end of a wait, and why; 0 for one that ends it. */
async function distanceOf(
  event: SeenEvent,
  { taskId, asked }: { readonly taskId: string; readonly asked: AskedEvent },
  matching: Matching,
): Promise<{ readonly distance: number; readonly why: string }> {
  const found = await textsOf(asked.expressions, event, matching);
  const differ = asked.expressions.flatMap((expression, at) => {
    const [is, wants] = [found[at], asked.texts[at]];
    return is === wants ? [] : [`${expression} is ${shown(is)}, and it wants ${shown(wants)}`];
  });
  if (differ.length > 0) return { distance: 2 + differ.length, why: differ.join("; ") };
  if (!isInSpan(event, asked, taskId)) {
    return { distance: 2, why: "it began to wait for later events" };
  }
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
