/**
 * Calls of LINE's Messaging API about the channel
 * (https://developers.line.biz/en/reference/messaging-api/); messages are in api.ts. A call
 * ends in what came back, or in why not, so that each caller decides whether it tries again.
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
export interface LineApi {
  /** Base URL, without a slash at its end. */
  readonly api: string;
  /** Reads the channel access token as it is now. */
  readonly token: () => string;
  readonly clock: Clock;
  /** Gives calls up. */
  readonly signal?: AbortSignal;
}

/** One call. */
export interface LineCall {
  /** `GET` when absent. */
  readonly method?: "GET" | "POST" | "PUT";
  /** Path below the base URL. */
  readonly path: string;
  readonly body?: JsonObject;
}

/** How a call ended. */
export type LineAnswer =
  | { readonly ok: true; readonly data: JsonObject }
  | {
    readonly ok: false;
    /**
     * `refused` for good; `limited` by a rate; `unavailable`, where nothing can have happened; `lost`,
     * where it may have been carried out all the same.
     */
    readonly kind: "refused" | "limited" | "unavailable" | "lost";
    /** Of the answer; 0 where there was none. */
    readonly status: number;
    /** One sentence without a full stop: what LINE said, and what to do. */
    readonly message: string;
    /** Seconds to wait for at least, where the answer says so. */
    readonly retryAfterSecs?: number;
  };

/** Longest time of one call: the test of a webhook waits for our own answer. */
const TIMEOUT_MS = 20_000;

/**
 * Makes one call.
 *
 * @throws {AppError} what reading the token throws.
 */
export async function callLine(access: LineApi, call: LineCall): Promise<LineAnswer> {
  const { api, clock, signal } = access;
  const { method = "GET", path, body } = call;
  const answer = await send(`${api}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${access.token()}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: toJson(body) }),
    timeoutMs: TIMEOUT_MS,
    ...defined({ signal }),
  }, clock);
  if (answer.answered) return read(answer, method, clock.now());
  const { message, mayHaveArrived } = answer;
  const kind = mayHaveArrived && method !== "GET" ? "lost" : "unavailable";
  return { ok: false, kind, status: 0, message };
}

function read(answer: Answered, method: string, now: number): LineAnswer {
  const { status, headers } = answer;
  const data = parsed(answer);
  if (status < 300) return { ok: true, data };
  const said = saidIn(data);
  if (status === 429) {
    const retryAfterSecs = askedPause(headers, now);
    const secs = retryAfterSecs === undefined ? {} : { retryAfterSecs };
    return { ok: false, kind: "limited", status, message: `LINE limits this${said}`, ...secs };
  }
  if (status >= 500) {
    const kind = method === "GET" ? "unavailable" : "lost";
    return { ok: false, kind, status, message: `LINE answered with status ${status}` };
  }
  const message = status === 401
    ? `LINE refuses the channel access token${said}: it is wrong, has expired or was replaced; issue ` +
      "one in the channel's tab Messaging API"
    : status === 403
    ? `LINE does not allow this${said}: the token belongs to another type of channel or plan`
    : `LINE refused with status ${status}${said}`;
  return { ok: false, kind: "refused", status, message };
}

function saidIn({ message, details }: JsonObject): string {
  const [first]: unknown[] = Array.isArray(details) ? details : [];
  const detail = isJsonObject(first) ? first["message"] : undefined;
  const parts = [message, detail].filter((part) => typeof part === "string" && part !== "");
  return parts.length === 0 ? "" : ` (${parts.join("; ").replaceAll(/\s+/g, " ").slice(0, 300)})`;
}

function parsed({ text, cut }: Answered): JsonObject {
  if (cut || text.trim() === "") return {};
  try {
    const data = parseJson(text);
    return isJsonObject(data) ? data : {};
  } catch {
    return {};
  }
}

/**
 * The answer of a call that has to go well.
 *
 * @throws {AppError} `refused`, or `overloaded` where another time may go well.
 */
export async function mustCallLine(access: LineApi, call: LineCall): Promise<JsonObject> {
  const answer = await callLine(access, call);
  if (answer.ok) return answer.data;
  const { kind, message, retryAfterSecs } = answer;
  const code = kind === "refused" ? "refused" : "overloaded";
  throw new AppError(code, message, retryAfterSecs === undefined ? {} : { retryAfterSecs });
}
