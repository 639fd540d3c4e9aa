/**
 * Calls of Slack's Web API (https://docs.slack.dev/apis/web-api). A call ends in what came back, or
 * in why not, so that each caller decides whether it tries again.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { isJsonObject, type JsonObject, parseJson, toJson } from "../../base/json.ts";
import { askedPause } from "../../http/asked_pause.ts";
import { type Answered, send } from "../../http/send.ts";

/** How to reach the API. */
export interface SlackApi {
  /** Base URL, without a slash at its end. */
  readonly api: string;
  /** Reads the token as it is now: one that was rotated counts from the next call on. */
  readonly token: () => string;
  readonly clock: Clock;
  /** Gives calls up. */
  readonly signal?: AbortSignal;
}

/** What came back of a call that went well. */
export interface SlackData {
  readonly ok: true;
  readonly data: JsonObject;
  /** Scopes of the token, where the answer names them. */
  readonly scopes?: readonly string[];
}

/** A call that failed. */
export interface SlackFailure {
  readonly ok: false;
  /**
   * `refused` for good; `limited` by a rate; `unavailable`, where nothing has happened; `lost`, where
   * it may have been carried out all the same.
   */
  readonly kind: "refused" | "limited" | "unavailable" | "lost";
  /** Slack's own word for it, such as `invalid_auth`; empty where it said none. */
  readonly word: string;
  /** One sentence without a full stop: what was found, and what to do. */
  readonly message: string;
  /** Seconds to wait for at least, where the answer says so. */
  readonly retryAfterSecs?: number;
}

/** How a call ended. */
export type SlackAnswer = SlackData | SlackFailure;

/** Longest time of one call. */
const TIMEOUT_MS = 10_000;
/** Pause where a rate is exceeded and the answer does not say for how long. */
const LIMIT_SECS = 30;

/** Words for what may go well another time. */
const PASSING = ["internal_error", "fatal_error", "service_unavailable", "request_timeout"];

/** What to do about words that concern the token; others speak for themselves. */
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
  { api, token, clock, signal }: SlackApi,
  name: string,
  body: JsonObject = {},
): Promise<SlackAnswer> {
  const answer = await send(`${api}/${name}`, {
    method: "POST",
    headers: {
      "authorization": `Bearer ${token()}`,
      "content-type": "application/json; charset=utf-8",
    },
    body: toJson(body),
    timeoutMs: TIMEOUT_MS,
    ...defined({ signal }),
  }, clock);
  if (answer.answered) return read(answer, name, clock.now());
  const kind = answer.mayHaveArrived ? "lost" : "unavailable";
  return { ok: false, kind, word: "", message: answer.message };
}

function read(answer: Answered, name: string, now: number): SlackAnswer {
  const { status, headers } = answer;
  const data = parsed(answer);
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
    const scopes = headers.get("x-oauth-scopes");
    return { ok: true, data, ...(scopes === null ? {} : { scopes: listed(scopes) }) };
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

function listed(scopes: string): readonly string[] {
  return scopes.split(",").map((one) => one.trim()).filter((one) => one !== "");
}

function parsed({ text, cut }: Answered): JsonObject {
  if (cut) return {};
  try {
    const data = parseJson(text);
    return isJsonObject(data) ? data : {};
  } catch {
    return {};
  }
}

/** The refusal as an error for a person at the terminal. */
export function slackError({ kind, message, retryAfterSecs }: SlackFailure): AppError {
  const code = kind === "refused" ? "refused" : "overloaded";
  return new AppError(code, message, retryAfterSecs === undefined ? {} : { retryAfterSecs });
}
