/**
 * Calls of the REST APIs of forges over HTTP. What the APIs share is here: pages by `Link`, refusals,
 * limits of the rate, and tokens that are renewed. What differs is in a dialect, one for each API.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { toJson } from "../../base/json.ts";
import { askedPause } from "../../http/asked_pause.ts";
import { type Answered, send } from "../../http/send.ts";
import { type ApiAccess, apiError, jsonOf, kindOfUnanswered } from "./api_call.ts";
import { pagesOf } from "./pages.ts";
import type { RestAnswer, RestCall, RestData, RestFailure } from "./rest.ts";

/** What is special about the API of a forge. */
export interface RestDialect {
  /** The host of the public service, and its name in sentences; others are named by their hosts. */
  readonly service: { readonly host: string; readonly title: string };
  /** Headers of every call; the token is empty for a call without one. */
  readonly headersOf: (token: string) => Readonly<Record<string, string>>;
  /** The words of an error; at most a few hundred characters in one line. */
  readonly saidIn: (data: unknown) => string;
  /** Whether a refusal is because of a rate, and the pause that it asks for by its own headers. */
  readonly limitIn: (refused: Refused, now: number) => RateLimit;
  /** The right that the token lacks for a refused call, as the end of a sentence; else empty. */
  readonly missingRight: (refused: Refused) => string;
  /** Whether the answer says that the repository is elsewhere now, and how people call that. */
  readonly hasMoved: (refused: Refused) => boolean;
  readonly moved: string;
}

/** A refusal of the API. */
export interface Refused {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON of the answer; `null` if it has none. */
  readonly data: unknown;
  /** What {@linkcode RestDialect.saidIn} found. */
  readonly said: string;
}

/** What a refusal says of a rate. */
export interface RateLimit {
  readonly isLimit: boolean;
  /** Seconds until the end of the limit, from headers of this API only. */
  readonly secs?: number | undefined;
}

/** The calls of one API. */
export interface RestClient {
  /**
   * Makes one call. If its token is refused, which changes nothing at the server, makes it again with
   * the next one that is to be had.
   *
   * @throws {AppError} what reading the token throws, but for `overloaded`: that is `unavailable`.
   */
  readonly call: (access: ApiAccess, call: RestCall) => Promise<RestAnswer>;
  /**
   * Makes a call that has to succeed.
   *
   * @throws {AppError} `refused`, or `overloaded` if a later try may succeed.
   */
  readonly mustCall: (access: ApiAccess, call: RestCall) => Promise<RestData>;
  /**
   * All items of a list, page after page.
   *
   * @throws {AppError} what {@linkcode RestClient.mustCall} and `pagesOf` throw.
   */
  readonly listAll: (access: ApiAccess, path: string) => AsyncGenerator<unknown>;
}

/** Longest time of a call. */
const TIMEOUT_MS = 20_000;
/** Most bytes of an answer if the call does not say. */
const MAX_BYTES = 8 * 1024 * 1024;
/** Pause after an exceeded rate if the answer names none: GitHub's advice. */
const LIMIT_SECS = 60;
/** Most tries of a call whose tokens are refused, one after the other. */
const MAX_TOKENS = 4;

/** The server's time of an answer in milliseconds since the epoch, if it says it. */
export function timeOf(headers: Headers): number | undefined {
  const at = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(at) ? undefined : at;
}

/** The client of an API. */
export function restClient(dialect: RestDialect): RestClient {
  const call: RestClient["call"] = async (access, call) => {
    for (let left = MAX_TOKENS;; left--) {
      const answer = await callOnce(access, call, dialect);
      if (answer.ok || answer.status !== 401 || left <= 1) return answer;
      if (access.renew?.(answer.at) !== true) return answer;
    }
  };
  const mustCall: RestClient["mustCall"] = async (access, request) => {
    const answer = await call(access, request);
    if (answer.ok) return answer;
    throw apiError(answer);
  };
  return {
    call,
    mustCall,
    async *listAll(access, path) {
      const read = (path: string) => mustCall(access, { path });
      for await (const { data } of pagesOf(path, { read, clock: access.clock })) {
        if (Array.isArray(data)) yield* data;
      }
    },
  };
}

async function callOnce(
  access: ApiAccess,
  call: RestCall,
  dialect: RestDialect,
): Promise<RestAnswer> {
  const { api, clock, signal } = access;
  const { method = "GET", path, body, etag, maxBytes = MAX_BYTES } = call;
  let token: string;
  try {
    token = await access.token();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "overloaded") throw error;
    const { message, retryAfterSecs } = error;
    return { ok: false, kind: "unavailable", status: 0, message, ...defined({ retryAfterSecs }) };
  }
  const answer = await send(`${api}${path}`, {
    method,
    headers: {
      ...dialect.headersOf(token),
      "user-agent": "svc",
      ...defined({ "content-type": body && "application/json", "if-none-match": etag }),
    },
    timeoutMs: TIMEOUT_MS,
    maxBytes,
    ...defined({ body: body && toJson(body), signal }),
  }, clock);
  if (!answer.answered) {
    const { message, fault } = answer;
    return { ok: false, kind: kindOfUnanswered(answer, method), status: 0, message, fault };
  }
  const data = jsonOf(answer);
  const host = nameOf(api, dialect);
  if (answer.status < 300 || answer.status === 304) return succeeded(answer, data, { api, host });
  return failed(answer, data, { ...call, method, host, now: clock.now() }, dialect);
}

/** The name of the server in sentences. */
function nameOf(api: string, { service }: RestDialect): string {
  const { host } = new URL(api);
  return host === service.host ? service.title : host;
}

function succeeded(
  { status, headers, text, cut }: Answered,
  data: unknown,
  { api, host }: { readonly api: string; readonly host: string },
): RestAnswer {
  if (cut) {
    const message = `The answer of ${host} is too long`;
    return { ok: false, kind: "refused", status, message };
  }
  const next = nextPage(headers.get("link"), api);
  return { ok: true, status, data, text, headers, ...defined({ next }) };
}

/**
 * The next page of `Link`. Only its path is used, so that the token never goes to another host; a
 * server behind a proxy may name itself by another host.
 */
function nextPage(link: string | null, api: string): string | undefined {
  const [, target] = /<([^<>]*)>\s*;\s*rel="next"/.exec(link ?? "") ?? [];
  const url = target === undefined ? null : URL.parse(target, `${api}/`);
  if (url === null) return undefined;
  const base = new URL(api).pathname.replace(/\/+$/, "");
  return url.pathname.startsWith(`${base}/`)
    ? `${url.pathname.slice(base.length)}${url.search}`
    : undefined;
}

/** A call that was refused, with what the message names. */
interface RefusedCall extends RestCall {
  /** Name of the server in sentences. */
  readonly host: string;
  readonly now: number;
}

function failed(
  { status, headers }: Answered,
  data: unknown,
  call: RefusedCall,
  dialect: RestDialect,
): RestFailure {
  const { host, method, now } = call;
  const refused: Refused = { status, headers, data, said: dialect.saidIn(data) };
  const pause = pauseSecs(refused, now, dialect);
  if (pause !== undefined) {
    const message = `${host} limits the rate of calls, and asks for a pause of ${pause} s`;
    return { ok: false, kind: "limited", status, message, retryAfterSecs: pause };
  }
  if (status >= 500) {
    // A gateway may give up while the server behind it goes on.
    const kind = method === "GET" ? "unavailable" : "lost";
    return { ok: false, kind, status, message: `${host} answered with status ${status}` };
  }
  const message = refusal(refused, call, dialect);
  return { ok: false, kind: "refused", status, message, ...defined({ at: timeOf(headers) }) };
}

function refusal(refused: Refused, { host, path }: RefusedCall, dialect: RestDialect): string {
  const { status, said } = refused;
  const [what] = path.split("?");
  const quoted = said === "" ? "" : ` (${said})`;
  if (status === 401) {
    return `${host} refuses the token${quoted}: it is wrong, has expired or was revoked`;
  }
  if (status === 403) return `${host} does not allow this${quoted}${dialect.missingRight(refused)}`;
  if (status === 404) {
    return `${host} has no ${what} for this token: it does not exist, was renamed, or the ` +
      "token may not see it";
  }
  if (dialect.hasMoved(refused)) return `${host} says that ${what} has moved: ${dialect.moved}`;
  if (status === 410) return `${host} says that ${what} is gone${quoted}`;
  return `${host} refused with status ${status}${quoted}`;
}

/** Seconds to wait for after an exceeded rate; `undefined` for any other refusal. */
function pauseSecs(
  refused: Refused,
  now: number,
  dialect: RestDialect,
): number | undefined {
  const { status, headers } = refused;
  if (status !== 403 && status !== 429) return undefined;
  const { isLimit, secs } = dialect.limitIn(refused, now);
  return askedPause(headers, now) ?? secs ?? (isLimit ? LIMIT_SECS : undefined);
}
