/**
 * Which events GitHub could not deliver, told from its log. Pure.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import type { LoggedTry } from "./delivery_log.ts";

/** An event that did not get through. */
export interface MissedEvent {
  readonly guid: string;
  readonly event: string;
  /** Empty where it has none. */
  readonly action: string;
  /** Its first try that the log has, in milliseconds since the epoch. */
  readonly at: number;
  /** Its last try. */
  readonly last: LoggedTry;
  /** How often it was sent again. */
  readonly redeliveries: number;
}

/**
 * The events of which no try got through, oldest first. A redirection is no way through: GitHub does
 * not follow it, and login pages redirect. What a `ping` asks is answered by the next one.
 */
export function missedEvents(tries: readonly LoggedTry[]): MissedEvent[] {
  const groups = new Map<string, LoggedTry[]>();
  for (const one of tries) {
    const group = groups.get(one.guid);
    if (group === undefined) groups.set(one.guid, [one]);
    else group.push(one);
  }
  return [...groups.values()].flatMap((group) => {
    const [first, ...rest] = group.toSorted(byTime);
    if (first === undefined || first.event === "ping" || group.some(gotThrough)) return [];
    const { guid, event, action, at } = first;
    const redeliveries = group.filter(({ redelivery }) => redelivery).length;
    return [{ guid, event, action, at, last: rest.at(-1) ?? first, redeliveries }];
  }).toSorted((a, b) => a.at - b.at || byId(a.last.id, b.last.id));
}

/** Whether a try was answered as GitHub wants it. */
export function gotThrough({ statusCode }: LoggedTry): boolean {
  return statusCode >= 200 && statusCode < 300;
}

function byTime(a: LoggedTry, b: LoggedTry): number {
  return a.at - b.at || byId(a.id, b.id);
}

/** Numbers as digits, which a double would not hold. */
function byId(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** How often GitHub is asked to send one event again. */
export const MAX_REDELIVERIES = 3;

/** What a try says of the way here, or of the event. */
export type TryMeans =
  /** It arrived. */
  | "arrived"
  /** Something that answers does not want it: asking again may help, a few times. */
  | "refused"
  /** Nothing answers, or a gateway before us: no other event arrives either. */
  | "unreachable";

/** What the end of a redelivery means. */
export function meaningOf(tried: LoggedTry): TryMeans {
  if (gotThrough(tried)) return "arrived";
  const { statusCode } = tried;
  return statusCode === 0 || statusCode >= 500 ? "unreachable" : "refused";
}

/** How a try ended, in a few words. */
export function tryText({ statusCode, status }: LoggedTry): string {
  return statusCode === 0 ? status || "no answer" : `answered ${statusCode}`;
}

/** Events that are named; of more only the number is. */
const MAX_NAMED = 5;

/** Names events that are lost, for people. */
export function lostText(lost: readonly MissedEvent[]): string {
  const named = lost.slice(0, MAX_NAMED).map(({ guid, event, action, at, last }) =>
    `${event}${action === "" ? "" : ` ${action}`} ${guid} of ${rfc3339(at)} (${tryText(last)})`
  );
  const more = lost.length - named.length;
  return `${named.join(", ")}${more === 0 ? "" : `, and ${more} more`}`;
}
