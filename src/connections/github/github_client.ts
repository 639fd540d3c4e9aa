/**
 * Calls of GitHub's REST API (https://docs.github.com/en/rest), which GitHub Enterprise, Gitea and
 * Forgejo speak as well. A call returns its failure, so that each caller decides whether it tries
 * again; the message says which right is missing.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { isJsonObject, toJson } from "../../base/json.ts";
import { askedPause, pauseUntil } from "../../http/asked_pause.ts";
import { type Answered, send } from "../../http/send.ts";
import { type ApiAccess, apiError, jsonOf, kindOfUnanswered } from "../api/api_call.ts";
import type { RestAnswer, RestCall, RestData, RestFailure } from "../api/rest.ts";
import { pagesOf } from "../api/pages.ts";

/** The server's time of an answer in milliseconds since the epoch, if it says it. */
export function timeOf(headers: Headers): number | undefined {
  const at = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(at) ? undefined : at;
}

/** Longest time of a call. */
const TIMEOUT_MS = 20_000;
/** Most bytes of an answer if the call does not say. */
const MAX_BYTES = 8 * 1024 * 1024;
/** Pause after an exceeded rate if the answer names none: GitHub's advice. */
const LIMIT_SECS = 60;

/** Most tries of a call whose tokens are refused, one after the other. */
const MAX_TOKENS = 4;

/**
 * Makes one call. If its token is refused, which changes nothing at the server, makes it again with
 * the next one that is to be had.
 *
 * @throws {AppError} what reading the token throws, but for `overloaded`: that is `unavailable`.
 */
export async function callGitHub(access: ApiAccess, call: RestCall): Promise<RestAnswer> {
  for (let left = MAX_TOKENS;; left--) {
    const answer = await callOnce(access, call);
    if (answer.ok || answer.status !== 401 || left <= 1) return answer;
    if (access.renew?.(answer.at) !== true) return answer;
  }
}

async function callOnce(access: ApiAccess, call: RestCall): Promise<RestAnswer> {
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
      accept: "application/vnd.github+json",
      ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
      "user-agent": "svc",
      "x-github-api-version": "2022-11-28",
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
  if (answer.status < 300 || answer.status === 304) return succeeded(answer, data, api);
  return failed(answer, data, { ...call, method, host: nameOf(api), now: clock.now() });
}

/** The name of the server in sentences. */
function nameOf(api: string): string {
  const { host } = new URL(api);
  return host === "api.github.com" ? "GitHub" : host;
}

function succeeded(
  { status, headers, text, cut }: Answered,
  data: unknown,
  api: string,
): RestAnswer {
  if (cut) {
    const message = `The answer of ${nameOf(api)} is too long`;
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

function failed(answer: Answered, data: unknown, call: RefusedCall): RestFailure {
  const { status, headers } = answer;
  const { host, method, now } = call;
  const said = saidIn(data);
  const pause = pauseSecs(answer, said, now);
  if (pause !== undefined) {
    const message = `${host} limits the rate of calls, and asks for a pause of ${pause} s`;
    return { ok: false, kind: "limited", status, message, retryAfterSecs: pause };
  }
  if (status >= 500) {
    // A gateway may give up while the server behind it goes on.
    const kind = method === "GET" ? "unavailable" : "lost";
    return { ok: false, kind, status, message: `${host} answered with status ${status}` };
  }
  const message = refusal(status, headers, said, call);
  return { ok: false, kind: "refused", status, message, ...defined({ at: timeOf(headers) }) };
}

function refusal(status: number, headers: Headers, said: string, call: RefusedCall): string {
  const { host, path } = call;
  const [what] = path.split("?");
  const quoted = said === "" ? "" : ` (${said})`;
  if (status === 401) {
    return `${host} refuses the token${quoted}: it is wrong, has expired or was revoked`;
  }
  if (status === 403) return `${host} does not allow this${quoted}${missingRight(headers)}`;
  if (status === 404) {
    return `${host} has no ${what} for this token: it does not exist, was renamed, or the ` +
      "token may not see it";
  }
  if (status === 301 || status === 307 || status === 308) {
    return `${host} says that ${what} has moved: the repository was renamed or transferred, write ` +
      "its new name";
  }
  if (status === 410) return `${host} says that ${what} is gone${quoted}`;
  return `${host} refused with status ${status}${quoted}`;
}

/** The right that the call needs and the token lacks, if the answer names it. */
function missingRight(headers: Headers): string {
  const sso = headers.get("x-github-sso");
  if (sso?.startsWith("required") === true) {
    return ": authorize the token for the single sign-on of the organization";
  }
  const accepted = headers.get("x-accepted-github-permissions");
  if (accepted !== null && accepted !== "") {
    return `: the token needs the permission ${accepted.replaceAll("; ", " or ")}`;
  }
  const scopes = headers.get("x-accepted-oauth-scopes");
  if (scopes === null || scopes === "") return "";
  const has = headers.get("x-oauth-scopes") ?? "";
  return `: the token needs one of the scopes ${scopes}, and has ${has === "" ? "none" : has}`;
}

/** Seconds to wait for after an exceeded rate; `undefined` for any other refusal. */
function pauseSecs({ status, headers }: Answered, said: string, now: number): number | undefined {
  if (status !== 403 && status !== 429) return undefined;
  const isUsedUp = headers.get("x-ratelimit-remaining") === "0";
  const isLimit = status === 429 || /rate limit|abuse detection/i.test(said);
  return askedPause(headers, now) ??
    (isUsedUp ? pauseUntil(headers.get("x-ratelimit-reset"), now) : undefined) ??
    (isLimit ? LIMIT_SECS : undefined);
}

/** `message` of an error, with the words of its `errors`; at most a few hundred characters. */
function saidIn(data: unknown): string {
  if (!isJsonObject(data)) return "";
  const { message, errors } = data;
  const details = Array.isArray(errors) ? errors.slice(0, 3).map(detailOf) : [];
  const parts = [typeof message === "string" ? message : "", ...details];
  return parts.filter((part) => part !== "").join("; ").replaceAll(/\s+/g, " ").slice(0, 300);
}

function detailOf(error: unknown): string {
  if (typeof error === "string") return error;
  if (!isJsonObject(error)) return "";
  const { message, field, code } = error;
  if (typeof message === "string") return message;
  return [field, code].filter((part) => typeof part === "string").join(" ");
}

/**
 * Makes a call that has to succeed.
 *
 * @throws {AppError} `refused`, or `overloaded` if a later try may succeed.
 */
export async function mustCall(access: ApiAccess, call: RestCall): Promise<RestData> {
  const answer = await callGitHub(access, call);
  if (answer.ok) return answer;
  throw apiError(answer);
}

/**
 * All items of a list, page after page.
 *
 * @throws {AppError} what {@linkcode mustCall} and {@linkcode pagesOf} throw.
 */
export async function* listAll(access: ApiAccess, path: string): AsyncGenerator<unknown> {
  const read = (path: string) => mustCall(access, { path });
  for await (const { data } of pagesOf(path, { read, clock: access.clock })) {
    if (Array.isArray(data)) yield* data;
  }
}
