/**
 * Calls of Slack's Web API (https://docs.slack.dev/apis/web-api). A call returns its failure, so that
 * each caller decides whether it tries again.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { type JsonObject, toJson } from "../../base/json.ts";
import { askedPause } from "../../http/asked_pause.ts";
import { type Answered, send } from "../../http/send.ts";
import { type ApiAccess, type ApiFailure, kindOfUnanswered, objectOf } from "../api/api_call.ts";

/** The answer of a call that succeeded. */
export interface SlackData {
  readonly ok: true;
  readonly data: JsonObject;
  /** Scopes of the token, if the answer names them. */
  readonly scopes?: readonly string[];
}

/** A call that failed. */
export interface SlackFailure extends ApiFailure {
  /** Slack's own word for it, such as `invalid_auth`; empty if it said none. */
  readonly word: string;
}

/** The answer of a call, or its failure. */
export type SlackAnswer = SlackData | SlackFailure;

/** Longest time of a call. */
const TIMEOUT_MS = 10_000;
/** Pause after an exceeded rate if the answer names none. */
const LIMIT_SECS = 30;

/** Slack's words for failures that pass. */
const PASSING = ["internal_error", "fatal_error", "service_unavailable", "request_timeout"];

/** Advice for Slack's error codes about the token; its other codes explain themselves. */
const REMEDIES: Readonly<Record<string, string>> = {
  invalid_auth: "the token is wrong or was revoked: set the current token from the app's page",
  not_authed: "the token is empty: set it",
  token_revoked: "the token was revoked: install the app again, and set its new token",
  token_expired: "the token has expired: set a new one",
  account_inactive:
    "the app was removed from the workspace: install it again, and set its new token",
  not_allowed_token_type:
    "the call needs the other type of token: bot tokens begin with xoxb-, app-level tokens with xapp-",
  no_permission: "the app's scopes changed after it was installed: install it again",
};

/**
 * Makes one call.
 *
 * @param name Name of the method, such as `auth.test`.
 * @throws {AppError} what reading the token throws.
 */
export async function callSlack(
  { api, token, clock, signal }: ApiAccess,
  name: string,
  body: JsonObject = {},
): Promise<SlackAnswer> {
  const answer = await send(`${api}/${name}`, {
    method: "POST",
    headers: {
      "authorization": `Bearer ${await token()}`,
      "content-type": "application/json; charset=utf-8",
    },
    body: toJson(body),
    timeoutMs: TIMEOUT_MS,
    ...defined({ signal }),
  }, clock);
  if (answer.answered) return read(answer, name, clock.now());
  const kind = kindOfUnanswered(answer, "POST");
  return { ok: false, kind, word: "", message: answer.message };
}

function read(answer: Answered, name: string, now: number): SlackAnswer {
  const { status, headers } = answer;
  const data = objectOf(answer);
  const word = typeof data["error"] === "string" ? data["error"].slice(0, 80) : "";
  if (status === 429 || word === "ratelimited") {
    const secs = askedPause(headers, now) ?? LIMIT_SECS;
    const message = `Slack limits the rate of calls, and asks for a pause of ${secs} s`;
    return { ok: false, kind: "limited", word, message, retryAfterSecs: secs };
  }
  if (status >= 500 || PASSING.includes(word)) {
    const said = word === "" ? `status ${status}` : word;
    return { ok: false, kind: "lost", word, message: `Slack answered ${name} with ${said}` };
  }
  if (status === 200 && data["ok"] === true) {
    const scopes = headers.get("x-oauth-scopes")?.split(",").map((scope) => scope.trim());
    return { ok: true, data, ...defined({ scopes: scopes?.filter((scope) => scope !== "") }) };
  }
  const said = word === "" ? `status ${status}` : word;
  const message = `Slack refuses ${name} with ${said}${remedy(word, data)}`;
  return { ok: false, kind: "refused", word, message };
}

function remedy(word: string, { needed, provided }: JsonObject): string {
  if (word === "missing_scope" && typeof needed === "string") {
    const has = typeof provided === "string" && provided !== "" ? provided.slice(0, 200) : "none";
    return `: the token needs the scope ${needed.slice(0, 200)}, and has ${has}; add it on the ` +
      "app's page, and install the app again";
  }
  const known = Object.hasOwn(REMEDIES, word) ? REMEDIES[word] : undefined;
  return known === undefined ? "" : `: ${known}`;
}
