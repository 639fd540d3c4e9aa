/**
 * Gets back what GitHub could not deliver to one webhook: reads its log as far back as needed, and
 * has every event that is not here sent again, oldest first, one a second.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { HeaderPage } from "../../store/delivery_records.ts";
import type { DeliveryStore } from "../../store/delivery_store.ts";
import type { ApiAccess } from "../api/api_call.ts";
import type { GitHubFailure } from "./github_client.ts";
import { logRetentionMs } from "../../resources/connection.ts";
import { type LoggedTry, type LogPage, logPath, readLogPage, redeliver } from "./delivery_log.ts";
import type { HookOwner } from "./hooks.ts";
import {
  gotThrough,
  MAX_REDELIVERIES,
  meaningOf,
  type MissedEvent,
  missedEvents,
  tryText,
} from "./missed_events.ts";
import { EndlessListError, pagesOf } from "./pages.ts";

/** A webhook whose log is read. */
export interface HookLog {
  readonly access: ApiAccess;
  readonly owner: HookOwner;
  readonly hook: number;
  readonly project: string;
  /** Up to when nothing is missing, by GitHub's clock, in milliseconds since the epoch. */
  readonly upTo: number;
  readonly signal: AbortSignal;
}

/** What reading needs. */
export interface LogHost {
  readonly store: Pick<DeliveryStore, "listHeaderValues">;
  readonly clock: Clock;
}

/** What was found in a log. */
export interface LogFindings {
  /** Time at GitHub when the reading began; by our clock where it does not tell. */
  readonly now: number;
  /** What our clock is ahead of GitHub's, in milliseconds. */
  readonly ahead: number;
  /** Events that did not get through and are not here, oldest first. */
  readonly missed: readonly MissedEvent[];
  /** When the newest try got through, in milliseconds since the epoch. */
  readonly arrivedAt?: number;
  /** End of the token, where an answer said it. */
  readonly tokenEndsAt?: number;
  /** From when to when the log was not looked through, and why as one sentence without a full stop. */
  readonly beyond?: { readonly from: number; readonly to: number; readonly why: string };
  /** Of the first page, to be given with the next reading. */
  readonly etag?: string;
}

/** The log lags behind by minutes: so much before the mark is read once more. */
const OVERLAP_MS = 10 * 60_000;
/** The header `Date`, from which the mark comes, has whole seconds. */
const DATE_MS = 1000;
/** A log is long where much is sent and nothing came for days. */
const MOST_OF_LOG = { pages: 500, withinMs: 5 * 60_000 };
const MAX_TRIES = 50_000;
/** Deliveries that are looked at in one call of the store. */
const PAGE = 500;
/** Header that names an event at GitHub, in lower case. */
export const GUID = "x-github-delivery";

/** Reads a log; `unchanged` where it is as it was with this `etag`. */
export async function readLog(
  log: HookLog,
  host: LogHost,
  etag?: string,
): Promise<LogFindings | "unchanged" | GitHubFailure> {
  const { access, owner, hook, upTo } = log;
  const first = await readLogPage(access, logPath(owner, hook), etag);
  if (first === "unchanged" || "ok" in first) return first;
  const local = host.clock.now();
  const now = first.now ?? local;
  const oldest = now - logRetentionMs(access.api);
  const from = Math.max(upTo - OVERLAP_MS, oldest);
  const read = await readBack(first, { access, from, clock: host.clock });
  if ("ok" in read) return read;
  const { tries, cut } = read;
  // What an earlier run gave up stands in the overlap, and is not missing once more.
  const wasGivenUp = ({ at, redeliveries }: MissedEvent) =>
    at < upTo + DATE_MS && redeliveries >= MAX_REDELIVERIES;
  const missed = missedEvents(tries.filter(({ at }) => at >= from))
    .filter((event) => !wasGivenUp(event));
  const arrivedAt = tries.find(gotThrough)?.at;
  const ahead = local - now;
  const here = await findHere(missed, { project: log.project, ahead }, host);
  return {
    now,
    ahead,
    missed: missed.filter(({ guid }) => !here.has(guid)),
    ...defined({ arrivedAt, tokenEndsAt: first.tokenEndsAt }),
    ...beyondOf(upTo, cut ?? { at: oldest, why: "GitHub's log does not reach that far back" }),
    ...defined({ etag: first.etag }),
  };
}

/** Where the reading of a log ended although older tries are wanted, and why. */
interface Cut {
  /** Time of the oldest try that was read. */
  readonly at: number;
  /** One sentence without a full stop. */
  readonly why: string;
}

/** The tries of a log, newest first, from its first page back to a time. */
async function readBack(
  first: LogPage,
  { access, from, clock }: {
    readonly access: ApiAccess;
    readonly from: number;
    readonly clock: Clock;
  },
): Promise<{ readonly tries: readonly LoggedTry[]; readonly cut?: Cut } | GitHubFailure> {
  const tries: LoggedTry[] = [];
  /** Takes the tries of a page; gives whether older ones are wanted. */
  const take = (page: LogPage) => {
    for (const one of page.tries) tries.push(one);
    const last = page.tries.at(-1);
    return last !== undefined && last.at >= from;
  };
  if (!take(first) || first.next === undefined) return { tries };
  const read = (path: string) => readLogPage(access, path);
  try {
    for await (const page of pagesOf(first.next, { read, clock, most: MOST_OF_LOG })) {
      if (page === "unchanged") break;
      if ("ok" in page) return page;
      if (!take(page)) break;
      if (tries.length > MAX_TRIES) {
        throw new EndlessListError(`GitHub's log has more than ${MAX_TRIES} entries`);
      }
    }
    return { tries };
  } catch (error) {
    if (!(error instanceof EndlessListError)) throw error;
    return { tries, cut: { at: tries.at(-1)?.at ?? from, why: error.message } };
  }
}

/** What lies between the mark and the oldest try that could be read. */
function beyondOf(upTo: number, { at, why }: Cut): Pick<LogFindings, "beyond"> {
  return upTo < at ? { beyond: { from: upTo, to: at, why } } : {};
}

/** Clocks of which neither is right, and a delivery that was long under way. */
const SLACK_MS = 3600_000;

/** Which of these events are stored here. */
async function findHere(
  missed: readonly MissedEvent[],
  { project, ahead }: { readonly project: string; readonly ahead: number },
  { store }: LogHost,
): Promise<ReadonlySet<string>> {
  const [oldest] = missed;
  const here = new Set<string>();
  if (oldest === undefined) return here;
  const wanted = new Set(missed.map(({ guid }) => guid));
  const since = Math.max(0, oldest.at + ahead - SLACK_MS);
  let before: string | undefined;
  for (;;) {
    const page: HeaderPage = await store.listHeaderValues({
      project,
      header: GUID,
      since,
      limit: PAGE,
      ...defined({ before }),
    });
    for (const value of page.values) if (wanted.has(value)) here.add(value);
    before = page.before;
    if (before === undefined || here.size === wanted.size) return here;
  }
}

/** What became of the events of one webhook. */
export interface RepairedHook {
  readonly repaired: readonly MissedEvent[];
  readonly lost: readonly MissedEvent[];
  /** Why it was not gone through to its end; absent when it was. */
  readonly fault?: string;
  /** Whether somebody has to do something before it works again. */
  readonly broken?: boolean;
  /** Seconds to wait for at least before the next time. */
  readonly retryAfterSecs?: number;
}

/** Pause between two redeliveries. */
const PACE_MS = 1000;
/** How long an event is waited for. */
const ARRIVES_WITHIN_MS = 60_000;
const POLL_MS = 250;
/** Time between two looks into GitHub's log meanwhile. */
const LOG_EVERY_MS = 3000;
/** Events that nothing answers to, after which no further one is tried. */
const MAX_UNREACHED = 2;

/** Has each event sent again; `onStep` hears how far it is. */
export async function redeliverMissed(
  log: HookLog,
  { missed, arrivedAt }: Pick<LogFindings, "missed" | "arrivedAt">,
  { onStep, ...host }: LogHost & { readonly onStep: (text: string) => void },
): Promise<RepairedHook> {
  const repaired: MissedEvent[] = [];
  const lost: MissedEvent[] = [];
  const unreached: MissedEvent[] = [];
  for (const [index, event] of missed.entries()) {
    if (log.signal.aborted || unreached.length >= MAX_UNREACHED) break;
    if (index > 0) await host.clock.pause(PACE_MS, log.signal);
    onStep(`${event.event} ${event.guid}, ${index + 1} of ${missed.length}`);
    const end = await redeliverUntilClear(log, event, host);
    if ("failure" in end) {
      const { status } = end.failure;
      if (status !== 404 && status !== 422) return { repaired, lost, ...faultOf(end.failure) };
      lost.push(event); // the log no longer has it
    } else if (end.means === "arrived") repaired.push(event);
    else if (end.means === "refused") lost.push(end.event);
    else unreached.push(end.event);
  }
  if (log.signal.aborted) return { repaired, lost, fault: "The repair was ended" };
  // What nothing answers to is given up only where others have got through since.
  const isPoison = ({ redeliveries, last }: MissedEvent) =>
    redeliveries >= MAX_REDELIVERIES &&
    (repaired.length > 0 || arrivedAt !== undefined && arrivedAt > last.at);
  const [blocked] = unreached.filter((event) => !isPoison(event));
  lost.push(...unreached.filter(isPoison));
  if (blocked === undefined) return { repaired, lost };
  const fault = `GitHub could not deliver ${blocked.event} ${blocked.guid} again (${
    tryText(blocked.last)
  }): check that its webhook's address is reachable; svc keeps trying until GitHub forgets it`;
  return { repaired, lost, fault };
}

/** A failed call as the fault of a run. */
export function faultOf(
  { kind, message, retryAfterSecs }: GitHubFailure,
): Pick<RepairedHook, "fault" | "broken" | "retryAfterSecs"> {
  return {
    fault: message,
    broken: kind === "refused",
    ...defined({ retryAfterSecs }),
  };
}

/** Sends one event again, and once more where something refuses it. */
async function redeliverUntilClear(
  log: HookLog,
  event: MissedEvent,
  host: LogHost,
): ReturnType<typeof redeliverOne> {
  for (let last = event;;) {
    const end = await redeliverOne(log, last, host);
    if ("failure" in end || end.means !== "refused") return end;
    if (end.event.redeliveries >= MAX_REDELIVERIES || log.signal.aborted) return end;
    last = end.event;
    await host.clock.pause(PACE_MS, log.signal);
  }
}

/** Sends one event again and waits for it, here and in the log. */
async function redeliverOne(
  log: HookLog,
  event: MissedEvent,
  host: LogHost,
): Promise<
  | { readonly failure: GitHubFailure }
  | { readonly event: MissedEvent; readonly means: ReturnType<typeof meaningOf> }
> {
  const { access, owner, hook, signal } = log;
  const { clock } = host;
  const since = clock.now() - POLL_MS;
  const failure = await redeliver(access, { owner, hook, id: event.last.id });
  if (failure !== undefined) return { failure };
  const started = clock.monotonicMs();
  for (let logAt = started + LOG_EVERY_MS;;) {
    if (await hasCome(event.guid, since, log, host)) return { event, means: "arrived" };
    const now = clock.monotonicMs();
    const isLate = now - started >= ARRIVES_WITHIN_MS || signal.aborted;
    if (isLate || now >= logAt) {
      logAt = now + LOG_EVERY_MS;
      const tried = await findNewer(log, event);
      if (tried !== undefined) {
        const next = { ...event, last: tried, redeliveries: event.redeliveries + 1 };
        return { event: next, means: meaningOf(tried) };
      }
      if (isLate) return { event, means: "unreachable" };
    }
    await clock.pause(POLL_MS, signal);
  }
}

async function hasCome(
  guid: string,
  since: number,
  { project }: HookLog,
  { store }: LogHost,
): Promise<boolean> {
  const { values } = await store.listHeaderValues({ project, header: GUID, since, limit: PAGE });
  return values.includes(guid);
}

/** The newest try of an event, where it is newer than the one that is known. */
async function findNewer(
  { access, owner, hook }: HookLog,
  { guid, last }: MissedEvent,
): Promise<LoggedTry | undefined> {
  const page = await readLogPage(access, logPath(owner, hook));
  if (page === "unchanged" || "ok" in page) return undefined;
  const found = page.tries.find((one) => one.guid === guid);
  return found === undefined || found.id === last.id ? undefined : found;
}
