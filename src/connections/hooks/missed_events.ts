/**
 * The events that a forge could not deliver, by its log. Pure.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import type { LoggedTry } from "../api/hooks.ts";

/** An event that was not delivered. */
export interface MissedEvent {
  readonly guid: string;
  readonly event: string;
  /** Empty if it has none. */
  readonly action: string;
  /** Time of its first try in the log, in milliseconds since the epoch. */
  readonly at: number;
  /** The last try to deliver it. */
  readonly last: LoggedTry;
  /** How often the forge was asked to send it again. */
  readonly redeliveries: number;
}

/**
 * The events of which no try was delivered, oldest first. A redirection does not count as delivered:
 * forges do not follow it, and login pages redirect. A missed ping needs no repair.
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
    if (first === undefined || group.some(({ isPing }) => isPing) || group.some(wasDelivered)) {
      return [];
    }
    const { guid, event, action, at } = first;
    const redeliveries = group.filter((one) => one.redelivery ?? one !== first).length;
    return [{ guid, event, action, at, last: rest.at(-1) ?? first, redeliveries }];
  }).toSorted((a, b) => a.at - b.at || byId(a.last.id, b.last.id));
}

/** Whether a try was delivered, by the rule of forges. */
export function wasDelivered({ statusCode }: LoggedTry): boolean {
  return statusCode >= 200 && statusCode < 300;
}

function byTime(a: LoggedTry, b: LoggedTry): number {
  return a.at - b.at || byId(a.id, b.id);
}

/** Compares numbers by their digits, because they may be too large for a double. */
function byId(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** The meaning of the result of a try. */
export type TryMeaning =
  /** A server took the event. */
  | "arrived"
  /** A server refused the event: another try may help, a few times. */
  | "refused"
  /** No server answered, or only a gateway: other events do not arrive either. */
  | "unreachable";

/** The meaning of a redelivery. */
export function meaningOf(redelivery: LoggedTry): TryMeaning {
  if (wasDelivered(redelivery)) return "arrived";
  const { statusCode } = redelivery;
  return statusCode === 0 || statusCode >= 500 ? "unreachable" : "refused";
}

/** The result of a try in a few words. */
export function tryText({ statusCode, status }: LoggedTry): string {
  return statusCode === 0 ? status || "no answer" : `answered ${statusCode}`;
}

/** Most events that a text names; it counts the others. */
const MAX_NAMED = 5;

/** The names of lost events, for people. */
export function lostText(lost: readonly MissedEvent[]): string {
  const named = lost.slice(0, MAX_NAMED).map(({ guid, event, action, at, last }) =>
    `${event}${action === "" ? "" : ` ${action}`} ${guid} of ${rfc3339(at)} (${tryText(last)})`
  );
  const more = lost.length - named.length;
  return `${named.join(", ")}${more === 0 ? "" : `, and ${more} more`}`;
}
