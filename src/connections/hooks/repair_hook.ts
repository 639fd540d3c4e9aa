/**
 * Repairs the gaps of a webhook: reads the log of its forge as far back as needed, and has it send every
 * event again that is not stored here, oldest first, one a second.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { HeaderPage } from "../../store/delivery_records.ts";
import type { DeliveryStore } from "../../store/delivery_store.ts";
import type { HookLog, LoggedTry, LogPage } from "../api/hooks.ts";
import type { RestFailure } from "../api/rest.ts";
import {
  meaningOf,
  type MissedEvent,
  missedEvents,
  type TryMeaning,
  tryText,
  wasDelivered,
} from "./missed_events.ts";
import { EndlessListError, pagesOf } from "../api/pages.ts";

/** The log of a webhook, and from where to read it. */
export interface LogReading {
  readonly log: HookLog;
  readonly project: string;
  /** Time up to which nothing is missing, by the forge's clock, in milliseconds since the epoch. */
  readonly upTo: number;
  readonly signal: AbortSignal;
}

/** The stored deliveries, with which a log is compared, and the clock. */
export interface LogHost {
  readonly store: Pick<DeliveryStore, "listHeaderValues">;
  readonly clock: Clock;
}

/** The result of reading a log. */
export interface LogFindings {
  /** The forge's time when the reading began; the local time if the forge does not say. */
  readonly now: number;
  /** By how many milliseconds the local clock is ahead of the forge's. */
  readonly ahead: number;
  /** Events that were not delivered and are not stored here, oldest first. */
  readonly missed: readonly MissedEvent[];
  /** Time of the newest delivered try, in milliseconds since the epoch. */
  readonly arrivedAt?: number;
  /** Time of the newest try, in milliseconds since the epoch. */
  readonly lastAt?: number;
  /** End of the token in milliseconds since the epoch, if an answer said it. */
  readonly tokenEndsAt?: number;
  /** The time for which the log could not be read, and why as one sentence without a full stop. */
  readonly beyond?: { readonly from: number; readonly to: number; readonly why: string };
  /** `etag` of the first page, for the next reading. */
  readonly etag?: string;
}

/** The log is minutes behind, so this much before the mark is read again. */
const OVERLAP_MS = 10 * 60_000;
/** Resolution of the header `Date`, from which the mark comes. */
const DATE_MS = 1000;
/** Bounds for a log that is long because nothing was delivered for days. */
const MOST_OF_LOG = { pages: 500, withinMs: 5 * 60_000 };
const MAX_TRIES = 50_000;
/** Deliveries that one call of the store reads. */
const PAGE = 500;

/** Reads a log; `unchanged` if it is the same as with this `etag`. */
export async function readLog(
  { log, project, upTo }: LogReading,
  host: LogHost,
  etag?: string,
): Promise<LogFindings | "unchanged" | RestFailure> {
  const first = await log.readPage(undefined, etag);
  if (first === "unchanged" || "ok" in first) return first;
  const local = host.clock.now();
  const now = first.now ?? local;
  const oldest = now - log.keptMs;
  const from = Math.max(upTo - OVERLAP_MS, oldest);
  const read = await readBack(first, { log, from, clock: host.clock });
  if ("ok" in read) return read;
  const { tries, cut } = read;
  // An event that an earlier run has given up is in the overlap too, and must not count twice.
  const wasGivenUp = ({ at, redeliveries }: MissedEvent) =>
    at < upTo + DATE_MS && redeliveries >= log.mostResends;
  const missed = missedEvents(tries.filter(({ at }) => at >= from))
    .filter((event) => !wasGivenUp(event));
  const arrivedAt = tries.find(wasDelivered)?.at;
  const ahead = local - now;
  const stored = await findStored(missed, { log, project, ahead }, host);
  return {
    now,
    ahead,
    missed: missed.filter(({ guid }) => !stored.has(guid)),
    ...defined({ arrivedAt, lastAt: tries[0]?.at, tokenEndsAt: first.tokenEndsAt }),
    ...beyondOf(
      upTo,
      cut ?? { at: oldest, why: `${log.title}'s log does not reach that far back` },
    ),
    ...defined({ etag: first.etag }),
  };
}

/** The point at which reading a log ended too early. */
interface Cut {
  /** Time of the oldest try that was read. */
  readonly at: number;
  /** One sentence without a full stop. */
  readonly why: string;
}

/** The tries of a log, newest first, from its first page back to a time. */
async function readBack(
  first: LogPage,
  { log, from, clock }: {
    readonly log: HookLog;
    readonly from: number;
    readonly clock: Clock;
  },
): Promise<{ readonly tries: readonly LoggedTry[]; readonly cut?: Cut } | RestFailure> {
  const tries: LoggedTry[] = [];
  /** Adds the tries of a page; returns whether older ones are needed. */
  const take = (page: LogPage) => {
    for (const logged of page.tries) tries.push(logged);
    const last = page.tries.at(-1);
    return last !== undefined && last.at >= from;
  };
  if (!take(first) || first.next === undefined) return { tries };
  const read = (path: string) => log.readPage(path);
  try {
    for await (const page of pagesOf(first.next, { read, clock, most: MOST_OF_LOG })) {
      if (page === "unchanged") break;
      if ("ok" in page) return page;
      if (!take(page)) break;
      if (tries.length > MAX_TRIES) {
        throw new EndlessListError(`${log.title}'s log has more than ${MAX_TRIES} entries`);
      }
    }
    return { tries };
  } catch (error) {
    if (!(error instanceof EndlessListError)) throw error;
    return { tries, cut: { at: tries.at(-1)?.at ?? from, why: error.message } };
  }
}

/** The time between the mark and the oldest try that could be read. */
function beyondOf(upTo: number, { at, why }: Cut): Pick<LogFindings, "beyond"> {
  return upTo < at ? { beyond: { from: upTo, to: at, why } } : {};
}

/** Allowance for clocks that are both wrong, and for a delivery that took long. */
const ALLOWANCE_MS = 3600_000;

/** Ids of those of these events that are stored here. */
async function findStored(
  missed: readonly MissedEvent[],
  { log, project, ahead }: {
    readonly log: HookLog;
    readonly project: string;
    readonly ahead: number;
  },
  { store }: LogHost,
): Promise<ReadonlySet<string>> {
  const [oldest] = missed;
  const stored = new Set<string>();
  if (oldest === undefined) return stored;
  const guids = new Set(missed.map(({ guid }) => guid));
  const since = Math.max(0, oldest.at + ahead - ALLOWANCE_MS);
  let before: string | undefined;
  for (;;) {
    const page: HeaderPage = await store.listHeaderValues({
      project,
      header: log.idHeader,
      since,
      limit: PAGE,
      ...defined({ before }),
    });
    for (const value of page.values) if (guids.has(value)) stored.add(value);
    before = page.before;
    if (before === undefined || stored.size === guids.size) return stored;
  }
}

/** The result of repairing a webhook. */
export interface RepairedHook {
  readonly repaired: readonly MissedEvent[];
  readonly lost: readonly MissedEvent[];
  /** Why it ended early; absent if it did not. */
  readonly fault?: string;
  /** Whether only a person can solve the fault. */
  readonly broken?: boolean;
  /** Seconds to wait for at least before the next repair. */
  readonly retryAfterSecs?: number;
}

/** Pause between two redeliveries. */
const PAUSE_MS = 1000;
/** Longest wait for an event that is sent again. */
const ARRIVES_WITHIN_MS = 60_000;
const POLL_MS = 250;
/** Time between two readings of the log during that wait. */
const LOG_EVERY_MS = 3000;
/** Number of unreachable events after which no further event is tried. */
const MAX_UNREACHED = 2;

/** Has the forge send each event again; `onStep` reports the progress. */
export async function redeliverMissed(
  reading: LogReading,
  { missed, arrivedAt }: Pick<LogFindings, "missed" | "arrivedAt">,
  { onStep, ...host }: LogHost & { readonly onStep: (text: string) => void },
): Promise<RepairedHook> {
  const { log, signal } = reading;
  const repaired: MissedEvent[] = [];
  const lost: MissedEvent[] = [];
  const unreached: MissedEvent[] = [];
  for (const [index, event] of missed.entries()) {
    if (signal.aborted || unreached.length >= MAX_UNREACHED) break;
    if (index > 0) await host.clock.pause(PAUSE_MS, signal);
    onStep(`${event.event} ${event.guid}, ${index + 1} of ${missed.length}`);
    const end = await redeliverUntilClear(reading, event, host);
    if ("failure" in end) return { repaired, lost, ...faultOf(end.failure) };
    if (end.means === "gone") lost.push(event);
    else if (end.means === "arrived") repaired.push(event);
    else if (end.means === "refused") lost.push(end.event);
    else unreached.push(end.event);
  }
  if (signal.aborted) return { repaired, lost, fault: "The repair was ended" };
  // An unreachable event is given up only if others were delivered since.
  const isPoison = ({ redeliveries, last }: MissedEvent) =>
    redeliveries >= log.mostResends &&
    (repaired.length > 0 || arrivedAt !== undefined && arrivedAt > last.at);
  const [blocked] = unreached.filter((event) => !isPoison(event));
  lost.push(...unreached.filter(isPoison));
  if (blocked === undefined) return { repaired, lost };
  const fault = `${log.title} could not deliver ${blocked.event} ${blocked.guid} again (${
    tryText(blocked.last)
  }): check that its webhook's address is reachable; svc keeps trying until ${log.title} forgets it`;
  return { repaired, lost, fault };
}

/** The fault of a run, for a call that failed. */
export function faultOf(
  { kind, message, retryAfterSecs }: RestFailure,
): Pick<RepairedHook, "fault" | "broken" | "retryAfterSecs"> {
  return { fault: message, broken: kind === "refused", ...defined({ retryAfterSecs }) };
}

/** The end of a redelivery: a failed call, or the event with its last try. */
type RedeliveryEnd =
  | { readonly failure: RestFailure }
  | { readonly event: MissedEvent; readonly means: TryMeaning | "gone" };

/** Sends an event again, several times if a server refuses it. */
async function redeliverUntilClear(
  reading: LogReading,
  event: MissedEvent,
  host: LogHost,
): Promise<RedeliveryEnd> {
  const { log, signal } = reading;
  for (let last = event;;) {
    const end = await redeliverOne(reading, last, host);
    if ("failure" in end || end.means !== "refused") return end;
    if (end.event.redeliveries >= log.mostResends || signal.aborted) return end;
    last = end.event;
    await host.clock.pause(PAUSE_MS, signal);
  }
}

/** Sends an event again and waits until it is stored here, or its try is in the log. */
async function redeliverOne(
  reading: LogReading,
  event: MissedEvent,
  host: LogHost,
): Promise<RedeliveryEnd> {
  const { log, signal } = reading;
  const { clock } = host;
  const since = clock.now() - POLL_MS;
  const sent = await log.resend(event.last);
  if (sent === "gone") return { event, means: "gone" };
  if (sent !== "sent") return { failure: sent };
  const started = clock.monotonicMs();
  for (let logAt = started + LOG_EVERY_MS;;) {
    if (await isStored(event.guid, since, reading, host)) return { event, means: "arrived" };
    const now = clock.monotonicMs();
    const isLate = now - started >= ARRIVES_WITHIN_MS || signal.aborted;
    if (isLate || now >= logAt) {
      logAt = now + LOG_EVERY_MS;
      const newer = await findNewer(log, event);
      if (newer !== undefined) {
        const next = { ...event, last: newer, redeliveries: event.redeliveries + 1 };
        return { event: next, means: meaningOf(newer) };
      }
      if (isLate) return { event, means: "unreachable" };
    }
    await clock.pause(POLL_MS, signal);
  }
}

async function isStored(
  guid: string,
  since: number,
  { log, project }: LogReading,
  { store }: LogHost,
): Promise<boolean> {
  const header = log.idHeader;
  const { values } = await store.listHeaderValues({ project, header, since, limit: PAGE });
  return values.includes(guid);
}

/** The newest try of an event, if it is newer than `last`. */
async function findNewer(
  log: HookLog,
  { guid, last }: MissedEvent,
): Promise<LoggedTry | undefined> {
  const page = await log.readPage();
  if (page === "unchanged" || "ok" in page) return undefined;
  const newest = page.tries.find((logged) => logged.guid === guid);
  return newest?.id === last.id ? undefined : newest;
}
