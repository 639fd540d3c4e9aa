/**
 * The address that platforms are given: whether a request to it arrives at this daemon.
 *
 * @module
 */

import type { Status } from "../api/status_operations.ts";
import type { Clock } from "../base/clock.ts";
import { send } from "../http/send.ts";
import { runTool, type ToolHost } from "../tasks/workspace/run_tool.ts";
import { certificateFinding } from "./certificates.ts";
import { type Check, failed, type Finding, ok, warning } from "./check.ts";

/** The public address of a daemon. */
export interface AddressHost {
  /** Beginning of the addresses that platforms are given, without `/webhook/…`. */
  readonly url: string;
  /** The status of the daemon; absent when none runs. */
  readonly status?: () => Promise<Status>;
  readonly clock: Pick<Clock, "after" | "now" | "pause">;
  /** Runs openssl, if it is installed: only it shows when a certificate ends. */
  readonly tools: ToolHost;
}

/** No trigger is likely to have this path: requests to it are only counted, in `svc status`. */
const PATH = "/webhook/svc-doctor";
const TIMEOUT_MS = 10_000;
/** A daemon that is busy may look at it a little later. */
const [TRIES, PAUSE_MS] = [4, 250];

/** Sends a request there, and asks the daemon whether it came. */
export const address: Check<AddressHost> = {
  name: "public address",
  async look(host, signal) {
    return [...await findArrival(host, signal), ...await findEnd(host, signal)];
  },
};

async function findArrival(
  { url, status, clock }: AddressHost,
  signal: AbortSignal | undefined,
): Promise<readonly Finding[]> {
  const to = `${url.replace(/\/+$/, "")}${PATH}`;
  const count = async () => countOf(await status?.());
  const before = await count();
  const how = { method: "POST", body: "{}", timeoutMs: TIMEOUT_MS };
  const answer = await send(to, { ...how, ...(signal ? { signal } : {}) }, clock);
  if (!answer.answered) return [failed(`${answer.message}: ${CURES[answer.fault]}`)];
  const said = `${url} answers with ${answer.status}`;
  if (status === undefined) {
    return [warning(`${said}, and no daemon runs to confirm that the request arrived`)];
  }
  for (let tries = 0; tries < TRIES; tries++) {
    if (await count() > before) return [ok(`${url} reaches this daemon`)];
    await clock.pause(PAUSE_MS, signal);
  }
  return [failed(
    `${said}, but the request did not reach this daemon: have the proxy or tunnel pass on ` +
      "/webhook/ to it, path included",
  )];
}

/** The end of the certificate that is served there, if it can be found. */
async function findEnd(
  { url, clock, tools }: AddressHost,
  signal: AbortSignal | undefined,
): Promise<readonly Finding[]> {
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== "https:") return [];
  const at = `${hostname}:${port || "443"}`;
  const end = await findShownEnd(at, tools, signal);
  if (end === undefined) return [];
  const cure = "renew it where TLS ends, such as in the proxy";
  return [certificateFinding({ where: `The certificate of ${at}`, end, cure }, clock.now())];
}

/** Prints the end of the certificate that `$1` shows for the name `$2`. */
const SHOWN_END = `openssl s_client -connect "$1" -servername "$2" </dev/null 2>/dev/null |
  openssl x509 -noout -enddate 2>/dev/null`;

/** When the certificate at `HOST:PORT` ends, in milliseconds since the epoch, if that can be known. */
export async function findShownEnd(
  at: string,
  tools: ToolHost,
  signal?: AbortSignal,
): Promise<number | undefined> {
  const name = at.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  const tool = { script: SHOWN_END, args: [at, name], signal, timeoutMs: TIMEOUT_MS };
  const { out } = await runTool(tool, tools).catch(() => ({ out: "" })); // a server that hangs
  const end = Date.parse(/^notAfter=(.*)$/m.exec(out)?.[1] ?? "");
  return Number.isNaN(end) ? undefined : end;
}

function countOf(status: Status | undefined): number {
  const came = status?.unknown_paths.filter(({ path }) => path.endsWith(PATH)) ?? [];
  return came.reduce((sum, { count }) => sum + count, 0);
}

const CURES = {
  dns: "add a DNS record for it, and check that this machine's resolver knows it",
  refused: "start what listens there (proxy, tunnel), or open the port",
  tls: "platforms refuse it as well; renew the certificate, or send the whole chain",
  connection: "check that this port speaks the protocol of the address, and the firewall",
  timeout: "check the firewall and the route to it",
  stopped: "try again",
} as const;
