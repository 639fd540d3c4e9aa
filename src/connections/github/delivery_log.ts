/**
 * GitHub's log of the deliveries of a webhook: github.com keeps three days of it, GitHub Enterprise
 * Server seven, Gitea and Forgejo none. GitHub never sends a delivery again by itself.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { findRawNumber, isJsonObject } from "../../base/json.ts";
import { findMembers, textOf } from "../../base/json_members.ts";
import type { ApiAccess } from "../api/api_call.ts";
import { timeOf } from "../api/rest_client.ts";
import { callGitHub } from "./github_client.ts";
import type { RestFailure } from "../api/rest.ts";
import type { HookLog, LoggedRequest, LoggedTry, LogPage } from "../api/hooks.ts";
import { toHex, utf8 } from "../../base/bytes.ts";
import { logRetentionMs } from "../../resources/connection.ts";
import { hmacKey, hmacOf } from "../../signatures/hmac_digest.ts";
import { type HookOwner, hookPath } from "./hooks.ts";

/** The log of a webhook. */
export function gitHubLog(access: ApiAccess, owner: HookOwner, hook: number): HookLog {
  const at = { owner, hook };
  return {
    title: "GitHub",
    hook,
    idHeader: "x-github-delivery",
    keptMs: logRetentionMs(access.api),
    mostResends: 3,
    pings: true,
    readPage: (path = logPath(owner, hook), etag) => readLogPage(access, path, etag),
    read: (id) => readLogged(access, { ...at, id }),
    resend: async ({ id }) => {
      const failure = await redeliver(access, { ...at, id });
      if (failure === undefined) return "sent";
      return failure.status === 404 || failure.status === 422 ? "gone" : failure;
    },
    isSignedWith({ headers, body }, secret) {
      const ours = toHex(hmacOf(hmacKey("sha256", utf8(secret)), utf8(body)));
      return headers["x-hub-signature-256"] === `sha256=${ours}`;
    },
  };
}

/** Path of the first page of the log of a webhook. */
function logPath(owner: HookOwner, hook: number): string {
  return `${hookPath(owner, hook)}/deliveries?per_page=100`;
}

/** Reads a page; `unchanged` if it is the same as with this `etag`. */
async function readLogPage(
  access: ApiAccess,
  path: string,
  etag?: string,
): Promise<LogPage | "unchanged" | RestFailure> {
  const answer = await callGitHub(access, { path, ...defined({ etag }) });
  if (!answer.ok) return answer;
  if (answer.status === 304) return "unchanged";
  const { headers, next, data } = answer;
  return {
    tries: Array.isArray(data) ? data.flatMap((item) => toTry(item) ?? []) : [],
    ...defined({
      next,
      now: timeOf(headers),
      tokenEndsAt: tokenEnd(headers),
      etag: headers.get("etag") ?? undefined,
    }),
  };
}

/** The header with the end of the token, in every answer if the token has an end. */
const EXPIRATION = "github-authentication-token-expiration";

/** The end of the token of a call in milliseconds since the epoch, if its answer says it. */
export function tokenEnd(headers: Headers): number | undefined {
  const text = headers.get(EXPIRATION);
  if (text === null) return undefined;
  const at = Date.parse(text.replace(/ UTC$/, "Z").replace(/^(\S+) (\S+)/, "$1T$2"));
  return Number.isNaN(at) ? undefined : at;
}

/** Most characters of a text of the log; GitHub's texts are far shorter. */
const MAX_TEXT = 200;

function toTry(item: unknown): LoggedTry | undefined {
  if (!isJsonObject(item)) return undefined;
  const { guid, delivered_at: deliveredAt, status_code: code, status, event, action } = item;
  const id = idText(item["id"]);
  const at = typeof deliveredAt === "string" ? Date.parse(deliveredAt) : NaN;
  if (id === undefined || typeof guid !== "string" || Number.isNaN(at)) return undefined;
  if (id.length + guid.length > MAX_TEXT) return undefined;
  return {
    id,
    guid,
    at,
    statusCode: typeof code === "number" ? code : 0,
    status: textIn(status),
    event: textIn(event),
    action: textIn(action),
    redelivery: item["redelivery"] === true,
    isPing: event === "ping",
  };
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value.slice(0, MAX_TEXT) : "";
}

function idText(id: unknown): string | undefined {
  return typeof id === "number" ? String(id) : findRawNumber(id);
}

/** Longest answer that is read: GitHub's largest body, which is somewhat longer in the log. */
const MAX_LOGGED_BYTES = 64 * 1024 * 1024;

/** Reads the request of a try; `undefined` if it is no longer in the log. */
async function readLogged(
  access: ApiAccess,
  { owner, hook, id }: { readonly owner: HookOwner; readonly hook: number; readonly id: string },
): Promise<LoggedRequest | undefined | RestFailure> {
  const path = `${hookPath(owner, hook)}/deliveries/${id}`;
  const answer = await callGitHub(access, { path, maxBytes: MAX_LOGGED_BYTES });
  if (!answer.ok) return answer.status === 404 ? undefined : answer;
  const { request, response } = membersOf(answer.text, ["request", "response"]);
  const { headers, payload } = membersOf(request, ["headers", "payload"]);
  const { headers: answered, payload: text } = membersOf(response, ["headers", "payload"]);
  if (payload === undefined) return undefined;
  return {
    headers: headersOf(headers),
    body: payload,
    answer: textOf(text) ?? "",
    answerHeaders: headersOf(answered),
  };
}

/** Members of an object as texts of JSON, exactly as they were written. */
function membersOf(json: string | undefined, names: readonly string[]) {
  return json === undefined ? {} : findMembers(json, names, MAX_LOGGED_BYTES) ?? {};
}

function headersOf(json: string | undefined): Record<string, string> {
  const value: unknown = json === undefined ? {} : JSON.parse(json);
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, text]) =>
      typeof text === "string" ? [[name.toLowerCase(), text] as const] : []
    ),
  );
}

/**
 * Has GitHub send an event again.
 *
 * @returns Why GitHub refuses; `undefined` if it will send it.
 */
async function redeliver(
  access: ApiAccess,
  { owner, hook, id }: { readonly owner: HookOwner; readonly hook: number; readonly id: string },
): Promise<RestFailure | undefined> {
  const path = `${hookPath(owner, hook)}/deliveries/${id}/attempts`;
  const answer = await callGitHub(access, { method: "POST", path });
  return answer.ok ? undefined : answer;
}
