/**
 * The way from GitHub to the daemon for the webhook of an App: its ping is sent again, and waited for.
 *
 * @module
 */

import type { Connected } from "../../api/connection_operations.ts";
import { AppError } from "../../base/errors.ts";
import type { ApiAccess } from "../../connections/api/api_call.ts";
import type { HookLog, LoggedTry } from "../../connections/api/hooks.ts";
import { gitHubLog } from "../../connections/github/delivery_log.ts";
import { ensureAppHook } from "../../connections/github/hooks.ts";
import type { ConnectionWork } from "./lines.ts";
import { type PingHost, waitForPing } from "./wait_for_ping.ts";

/** How long svc waits for the ping of the registration in the log, and between two readings. */
const LOGGED_MS = 20_000;
const ASK_EVERY_MS = 2000;

/** The App whose webhook is checked. */
export interface AppWay {
  /** Access as the App itself. */
  readonly access: ApiAccess;
  readonly id: number;
  readonly project: string;
  readonly endpoint: string;
  /** Key of the SecretStore that verifies its events. */
  readonly key: string;
  readonly wanted: { readonly url: string; readonly secret: string };
  readonly host: PingHost;
  readonly signal: AbortSignal;
}

/**
 * Has GitHub send its ping of the registration again, which came before svc knew the secret, and waits
 * until it arrives here.
 */
export async function* checkAppWay(at: AppWay): ConnectionWork<Connected["check"]> {
  const { access, id, wanted } = at;
  yield { step: "waiting for the ping of GitHub, 30 s at most" };
  const first = await pingAgain(at);
  if (first === "none") {
    yield { note: "GitHub's log has no ping any more: the next event shows whether it arrives" };
    return null;
  }
  if (first === undefined) return { ok: true, fault: null, message: "The ping arrived" };
  if (first.fault !== "secret") return { ok: false, ...first };
  await ensureAppHook(access, { id, wanted, anew: true });
  const again = await pingAgain(at);
  if (again === "none" || again === undefined) {
    yield { step: "GitHub signed with another secret: svc set it again" };
    return { ok: true, fault: null, message: "The ping arrived" };
  }
  return { ok: false, ...again };
}

async function pingAgain({ access, id, project, endpoint, key, wanted, host, signal }: AppWay) {
  const log = gitHubLog(access, { app: true }, id);
  const found = await findPing(log, access, signal);
  if (found === undefined) return "none";
  const since = host.clock.now();
  const sent = await log.resend(found.ping);
  if (sent === "gone") return "none";
  if (sent !== "sent") throw new AppError("refused", sent.message);
  return await waitForPing({
    log,
    url: wanted.url,
    project,
    endpoint,
    key,
    secret: wanted.secret,
    since,
    before: found.before,
    signal,
  }, host);
}

/** The newest ping in the log, which may be behind, and the ids of all tries in it. */
async function findPing(
  log: HookLog,
  { clock }: ApiAccess,
  signal: AbortSignal,
): Promise<{ readonly ping: LoggedTry; readonly before: ReadonlySet<string> } | undefined> {
  const end = clock.monotonicMs() + LOGGED_MS;
  for (;;) {
    const page = await log.readPage();
    const tries = typeof page === "object" && "tries" in page ? page.tries : [];
    const ping = tries.find(({ isPing }) => isPing);
    if (ping !== undefined) return { ping, before: new Set(tries.map((one) => one.id)) };
    // Other tries, and no ping: it has left the log.
    if (tries.length > 0 || clock.monotonicMs() >= end || signal.aborted) return undefined;
    await clock.pause(ASK_EVERY_MS, signal);
  }
}
