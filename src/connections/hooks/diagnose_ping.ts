/**
 * Finds out why a `ping` did not arrive, from its entry in the forge's log: the name, the certificate,
 * the proxy, the path, the secret, or a body that was changed on its way. Pure.
 *
 * @module
 */

import { isJsonObject } from "../../base/json.ts";

/** A fault on the way from a forge to the daemon. */
export type PingFault =
  | "dns"
  | "tls"
  | "refused"
  | "timeout"
  | "redirect"
  | "proxy"
  | "login"
  | "path"
  | "secret"
  | "body"
  | "daemon"
  | "elsewhere"
  | "not_sent";

/** The facts about a ping that did not arrive. */
export interface PingFacts {
  /** Name of the forge for people. */
  readonly title: string;
  /** Address of the webhook. */
  readonly url: string;
  /** Address at which this daemon listens; `undefined` if it does not listen. */
  readonly listensAt: string | undefined;
  /** Its entry in the log, if there is one. */
  readonly logged?: {
    readonly statusCode: number;
    readonly status: string;
    /** Body of the answer. */
    readonly answer: string;
    /** Whether its signature was made with the secret of this daemon; absent if nobody can tell. */
    readonly signedByUs?: boolean;
  };
}

/** A fault and its remedy. */
export interface PingDiagnosis {
  readonly fault: PingFault;
  /** Sentences without a full stop at the end. */
  readonly message: string;
}

/** The fault that explains the facts. */
export function diagnosePing({ title, url, listensAt, logged }: PingFacts): PingDiagnosis {
  const { host, pathname } = new URL(url);
  if (logged === undefined) {
    const message =
      `${title} has not sent its ping yet, which can take a while: run this again later`;
    return { fault: "not_sent", message };
  }
  const { statusCode: code, status, answer } = logged;
  if (code === 0) return unreachable(title, host, status);
  const isFromSvc = isAnswerOfSvc(answer);
  const daemon = listensAt === undefined
    ? "the daemon, which takes no requests now (--webhook-bind none)"
    : `the daemon at ${listensAt}`;
  if (code < 300) {
    const message =
      `${host} answered ${title} with ${code}, but this daemon has not received the ` +
      `ping: something else answers there. Have the proxy or tunnel pass on to ${daemon}`;
    return { fault: "elsewhere", message };
  }
  if (code < 400) {
    const message = `${host} redirects (${code}), and ${title} does not follow: give the last ` +
      "address with --url, and put no login page in front of /webhook/";
    return { fault: "redirect", message };
  }
  if (code === 404 && isFromSvc) {
    const message = "The ping reached an svc daemon at a path that has no trigger: the proxy " +
      `must pass on ${pathname} unchanged`;
    return { fault: "path", message };
  }
  if (code === 404) {
    const message =
      `${host} does not pass on ${pathname} (404): have the proxy or tunnel pass on ` +
      `/webhook/ to ${daemon}`;
    return { fault: "path", message };
  }
  if ((code === 401 || code === 403) && !isFromSvc) {
    const message = `${host} asks ${title} for a login (${code}): exempt /webhook/ in the proxy ` +
      "or tunnel, because the daemon checks signatures itself";
    return { fault: "login", message };
  }
  if (code === 401) {
    return logged.signedByUs === true
      ? {
        fault: "body",
        message:
          `${title} signed the ping with the secret that this daemon knows, and the daemon ` +
          "refused it (401): svc get deliveries --outcome rejected says why. If no key fits, " +
          `${host} or something behind it changes the body: let it pass on the body unchanged`,
      }
      : {
        fault: "secret",
        message: `${title} signs with a secret that this daemon does not know`,
      };
  }
  if (isFromSvc) {
    return { fault: "daemon", message: `The daemon answered ${code}: see svc get deliveries` };
  }
  const message = `${host} answered ${code}: the proxy or tunnel does not reach ${daemon}`;
  return { fault: "proxy", message };
}

function unreachable(title: string, host: string, status: string): PingDiagnosis {
  const said = status === "" ? "" : ` ("${status.slice(0, 200)}")`;
  if (/resolve|resolution|dns|no such host|unknown host/i.test(status)) {
    const message = `${title} does not find ${host}${said}: the name is not known in public (DNS)`;
    return { fault: "dns", message };
  }
  if (/ssl|tls|certificate|peer/i.test(status)) {
    const message =
      `${title} does not accept the certificate of ${host}${said}: it must come from a public ` +
      "authority, for this name, with its whole chain";
    return { fault: "tls", message };
  }
  if (/time/i.test(status)) {
    const message =
      `${host} did not answer ${title} in time${said}: the address must be reachable ` +
      "from the Internet, and no firewall may be in the way";
    return { fault: "timeout", message };
  }
  const message =
    `${title} cannot connect to ${host}${said}: is the proxy or tunnel up, and is the ` +
    "address reachable from the Internet?";
  return { fault: "refused", message };
}

/** Whether a body is an answer of svc: a refusal with an id of the request, or a pong. */
function isAnswerOfSvc(answer: string): boolean {
  try {
    const value: unknown = JSON.parse(answer);
    if (!isJsonObject(value)) return false;
    return value["status"] === "pong" ||
      (typeof value["request_id"] === "string" && typeof value["code"] === "string");
  } catch {
    return false;
  }
}
