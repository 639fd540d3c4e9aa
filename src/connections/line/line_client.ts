/**
 * Calls of LINE's Messaging API about the channel
 * (https://developers.line.biz/en/reference/messaging-api/); messages are in push_text.ts.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { isJsonObject, type JsonObject, toJson } from "../../base/json.ts";
import { askedPause } from "../../http/asked_pause.ts";
import { type Answered, send } from "../../http/send.ts";
import {
  type ApiAccess,
  apiError,
  type ApiFailure,
  kindOfUnanswered,
  objectOf,
} from "../api/api_call.ts";

/** A request to the API. */
export interface LineCall {
  /** The method; `GET` if absent. */
  readonly method?: "GET" | "POST" | "PUT";
  /** Path below the base URL. */
  readonly path: string;
  readonly body?: JsonObject;
}

/** A call that failed. */
interface LineFailure extends ApiFailure {
  /** Status of the answer; 0 if none came. */
  readonly status: number;
}

/** The answer of a call, or its failure. */
export type LineAnswer = { readonly ok: true; readonly data: JsonObject } | LineFailure;

/** Longest time of a call: LINE's test of a webhook waits for the answer of svc. */
const TIMEOUT_MS = 20_000;

/**
 * Makes one call.
 *
 * @throws {AppError} what reading the token throws.
 */
export async function callLine(access: ApiAccess, call: LineCall): Promise<LineAnswer> {
  const { api, clock, signal } = access;
  const { method = "GET", path, body } = call;
  const answer = await send(`${api}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${await access.token()}`,
      ...defined({ "content-type": body && "application/json" }),
    },
    timeoutMs: TIMEOUT_MS,
    ...defined({ body: body && toJson(body), signal }),
  }, clock);
  if (answer.answered) return read(answer, method, clock.now());
  const { message } = answer;
  return { ok: false, kind: kindOfUnanswered(answer, method), status: 0, message };
}

function read(answer: Answered, method: string, now: number): LineAnswer {
  const { status, headers } = answer;
  const data = objectOf(answer);
  if (status < 300) return { ok: true, data };
  const said = saidIn(data);
  if (status === 429) {
    const pause = defined({ retryAfterSecs: askedPause(headers, now) });
    return { ok: false, kind: "limited", status, message: `LINE limits this${said}`, ...pause };
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

/**
 * Makes a call that has to succeed.
 *
 * @throws {AppError} `refused`, or `overloaded` if a later try may succeed.
 */
export async function mustCallLine(access: ApiAccess, call: LineCall): Promise<JsonObject> {
  const answer = await callLine(access, call);
  if (answer.ok) return answer.data;
  throw apiError(answer);
}
