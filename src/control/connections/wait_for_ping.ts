/**
 * Waits for the ping of a webhook: as this daemon receives it, and as the log of the forge has it.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { triggersAt } from "../../connections/endpoints.ts";
import type { HookLog, LoggedTry } from "../../connections/api/hooks.ts";
import {
  diagnosePing,
  type PingDiagnosis,
  type PingFacts,
} from "../../connections/hooks/diagnose_ping.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { DeliveryStore } from "../../store/delivery_store.ts";

/** The deliveries of a daemon, and the address at which it takes them. */
export interface PingHost {
  readonly store: Pick<DeliveryStore, "listDeliveries">;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Base address at which this daemon listens. */
  readonly status: () => { readonly webhookUrl: string | undefined };
}

/** The ping that is waited for. */
export interface AwaitedPing {
  readonly log: HookLog;
  readonly url: string;
  readonly project: string;
  readonly endpoint: string;
  /** Key of the SecretStore that verifies it, and its value. */
  readonly key: string;
  readonly secret: string;
  /** A time before it was sent, in milliseconds since the epoch. */
  readonly since: number;
  /** Ids of the tries that were in the log before. */
  readonly before: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

/** How long a ping is waited for. */
const WAIT_MS = 30_000;
/**
 * Time between two reads of the daemon's own deliveries, and how many of these come to one read of
 * the log.
 */
const POLL_MS = 250;
const POLLS_A_CALL = 6;
/** How long to wait for the daemon's own record when the log has a good answer. */
const RECORD_MS = 2000;

/** Ids of the tries in the log; none without a log. */
export async function loggedBefore(log: HookLog): Promise<ReadonlySet<string>> {
  const page = await log.readPage();
  return new Set(typeof page === "object" && "tries" in page ? page.tries.map(({ id }) => id) : []);
}

/** Returns what is wrong, or `undefined` when the ping has arrived. */
export async function waitForPing(
  ping: AwaitedPing,
  host: PingHost,
): Promise<PingDiagnosis | undefined> {
  const { clock } = host;
  const end = clock.monotonicMs() + WAIT_MS;
  let answeredAt: number | undefined;
  for (let poll = 1;; poll++) {
    if (await hasArrived(ping, host)) return undefined;
    const now = clock.monotonicMs();
    const late = now >= end || ping.signal.aborted;
    if (late || poll % POLLS_A_CALL === 0) {
      const tried = await findPing(ping);
      if (tried !== undefined && isAnswered(tried)) answeredAt ??= now;
      const isWrong = tried !== undefined && !isAnswered(tried);
      const isElsewhere = answeredAt !== undefined && now - answeredAt >= RECORD_MS;
      if (late || isWrong || isElsewhere) {
        // It may have arrived while the forge was asked.
        if (await hasArrived(ping, host)) return undefined;
        return diagnosePing(await factsOf(ping, tried, host));
      }
    }
    await clock.pause(POLL_MS, ping.signal);
  }
}

/** Whether a delivery has come that only the forge could sign. */
async function hasArrived(
  { project, endpoint, key, since }: AwaitedPing,
  { store, catalog }: PingHost,
): Promise<boolean> {
  const lists = triggersAt({ project, endpoint }, catalog).map(({ name }) =>
    store.listDeliveries({ project, trigger: name, since, limit: 20 })
  );
  const found = (await Promise.all(lists)).flat();
  return found.some(({ secretKey, outcome }) => secretKey === key && outcome !== "rejected");
}

function isAnswered({ statusCode }: LoggedTry): boolean {
  return statusCode >= 200 && statusCode < 300;
}

/** The newest ping since then in the log, if there is one; else the newest of other tries. */
async function findPing({ log, before }: AwaitedPing): Promise<LoggedTry | undefined> {
  const page = await log.readPage();
  if (typeof page !== "object" || !("tries" in page)) return undefined;
  const since = page.tries.filter(({ id }) => !before.has(id));
  // A forge that cannot ping has sent an event again.
  return since.find(({ isPing }) => isPing) ?? (log.pings ? undefined : since[0]);
}

async function factsOf(
  { url, log, secret }: AwaitedPing,
  tried: LoggedTry | undefined,
  { status }: PingHost,
): Promise<PingFacts> {
  const listensAt = status().webhookUrl;
  const common = { title: log.title, url, listensAt };
  if (tried === undefined) return common;
  const read = await log.read(tried.id);
  const logged = read !== undefined && "body" in read ? read : undefined;
  const signedByUs = logged === undefined ? false : log.isSignedWith(logged, secret);
  const { statusCode, status: said } = tried;
  return {
    ...common,
    logged: { statusCode, status: said, answer: logged?.answer ?? "", ...defined({ signedByUs }) },
  };
}
