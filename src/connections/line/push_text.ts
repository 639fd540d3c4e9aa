/**
 * Push messages of LINE's Messaging API (https://developers.line.biz/en/reference/messaging-api/).
 * A retry key names a request: LINE carries it out once, however often it comes within a day.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { askedPause } from "../../http/asked_pause.ts";
import { type Answered, send } from "../../http/send.ts";
import { objectOf } from "../api/api_call.ts";

/** LINE's API and the token of a push. */
export interface LineAccess {
  /** Base URL of the API, without a slash at its end. */
  readonly api: string;
  /** Channel access token, of characters that a header can hold. */
  readonly token: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A message to push. */
export interface LinePush {
  /** Id of a user, group or room. */
  readonly to: string;
  readonly text: string;
  /** UUID that names the request. */
  readonly retryKey: string;
}

/** The result of a push. */
export type PushResult =
  | {
    readonly pushed: true;
    /** Id of the first message; empty if LINE names none. */
    readonly id: string;
  }
  | {
    readonly pushed: false;
    /** One sentence without a full stop. */
    readonly reason: string;
    readonly isTemporary: boolean;
    /** Pause that LINE asks for, in seconds. */
    readonly afterSecs?: number;
    readonly mayHaveArrived: boolean;
  };

/** Longest text of one message, in UTF-16 code units, and most messages of one push. */
const MAX_UNITS = 5000;
const MAX_MESSAGES = 5;
/** The end of a text that was cut. */
const CUT = "… (cut)";
const TIMEOUT_MS = 10_000;
/** Pause after an exceeded rate if LINE names none. */
const LIMIT_SECS = 60;

/** Pushes a text, as several messages if it is long. */
export async function pushText(
  { to, text, retryKey }: LinePush,
  { api, token, clock, signal }: LineAccess,
): Promise<PushResult> {
  const answer = await send(`${api}/v2/bot/message/push`, {
    method: "POST",
    headers: {
      "authorization": `Bearer ${token}`,
      "content-type": "application/json",
      "x-line-retry-key": retryKey,
    },
    body: JSON.stringify({ to, messages: messagesOf(text) }),
    timeoutMs: TIMEOUT_MS,
    signal,
  }, clock);
  if (answer.answered) return readAnswer(answer, clock.now());
  const { message, mayHaveArrived } = answer;
  return { pushed: false, reason: message, isTemporary: true, mayHaveArrived };
}

/** The messages of a text: each as long as LINE allows, none ending in half a character. */
export function messagesOf(text: string): readonly { type: "text"; text: string }[] {
  const parts: string[] = [];
  let rest = text;
  while (rest !== "" && parts.length < MAX_MESSAGES) {
    const isLast = parts.length === MAX_MESSAGES - 1 && rest.length > MAX_UNITS;
    const part = isLast ? whole(rest, MAX_UNITS - CUT.length) : whole(rest, MAX_UNITS);
    parts.push(isLast ? part + CUT : part);
    rest = rest.slice(part.length);
  }
  return parts.map((part) => ({ type: "text", text: part }));
}

function whole(text: string, length: number): string {
  const part = text.slice(0, length);
  return part.length < text.length && /[\ud800-\udbff]$/.test(part) ? part.slice(0, -1) : part;
}

function readAnswer(answer: Answered, now: number): PushResult {
  const { status, headers } = answer;
  const data = objectOf(answer);
  // 409: the push was carried out before, under the same key.
  if (status < 300 || status === 409) return { pushed: true, id: firstId(data) };
  const said = typeof data["message"] === "string" ? data["message"].slice(0, 200) : "";
  const quoted = said === "" ? "" : ` (${said})`;
  const refused = { pushed: false, isTemporary: false, mayHaveArrived: false } as const;
  if (status === 429 && /monthly limit/i.test(said)) {
    const reason = `This month's LINE messages are used up${quoted}: buy more at LINE`;
    return { ...refused, reason };
  }
  if (status === 429) {
    const afterSecs = askedPause(headers, now) ?? LIMIT_SECS;
    return { ...refused, isTemporary: true, afterSecs, reason: "LINE limits the rate of messages" };
  }
  if (status >= 500) {
    const reason = `LINE answered with status ${status}`;
    return { ...refused, isTemporary: true, mayHaveArrived: true, reason };
  }
  if (status === 401) {
    return { ...refused, reason: `LINE refuses the channel access token${quoted}: set it again` };
  }
  return { ...refused, reason: `LINE refused the message with status ${status}${quoted}` };
}

function firstId({ sentMessages: sent }: JsonObject): string {
  const first: unknown = Array.isArray(sent) ? sent[0] : undefined;
  const id = isJsonObject(first) ? first["id"] : undefined;
  return typeof id === "string" ? id : "";
}
