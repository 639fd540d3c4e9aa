/**
 * `chat.postMessage` of Slack's Web API
 * (https://docs.slack.dev/reference/methods/chat.postMessage): the only call that writes to Slack.
 * The channel comes from the configuration, never from a payload.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { askedPause } from "../../http/asked_pause.ts";
import { type Answered, send } from "../../http/send.ts";
import { objectOf } from "../api/api_call.ts";

/** A text, and the channel or thread to which it goes. */
export interface Post {
  /** The id of the channel, such as `C0123456789`. */
  readonly channel: string;
  /** `ts` of the first post of the thread; empty for the channel itself. */
  readonly threadId: string;
  /** Plain text: markup, links and mentions in it have no effect. */
  readonly text: string;
}

/** Slack's API and the token of a post. */
export interface SlackAccess {
  /** Base URL of the Web API, without a slash at its end. */
  readonly apiUrl: string;
  /** Bot token, of characters that a header can hold. */
  readonly token: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The result of a post. */
export type PostResult =
  | {
    readonly posted: true;
    /** `ts` of the new post. */
    readonly ts: string;
  }
  | {
    readonly posted: false;
    /** One sentence without a full stop, with Slack's own word if it gave one. */
    readonly reason: string;
    /** Whether another try may help. */
    readonly isTemporary: boolean;
    /** Pause that Slack asks for, in seconds. */
    readonly afterSecs?: number;
    /** Whether it may have been posted nevertheless. */
    readonly mayHaveArrived: boolean;
  };

/** Longest text: Slack truncates longer ones. */
export const MAX_POST_CHARACTERS = 40_000;
/** Longest time of a call. */
const TIMEOUT_MS = 10_000;
/** Pause after an exceeded rate if Slack names none. */
const LIMIT_SECS = 1;

/** Whether Slack would truncate a text. */
export function isTooLong(text: string): boolean {
  return text.length > 2 * MAX_POST_CHARACTERS || [...text].length > MAX_POST_CHARACTERS;
}

/** Escapes a text for Slack: without this, `<!channel>` would notify the whole channel. */
export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Posts a text, once. */
export async function postMessage(
  { channel, threadId, text }: Post,
  { apiUrl, token, clock, signal }: SlackAccess,
): Promise<PostResult> {
  const answer = await send(`${apiUrl}/chat.postMessage`, {
    method: "POST",
    headers: {
      "authorization": `Bearer ${token}`,
      "content-type": "application/json; charset=utf-8",
    },
    body: JSON.stringify({
      channel,
      text: escapeText(text),
      parse: "none",
      link_names: false,
      mrkdwn: false,
      unfurl_links: false,
      unfurl_media: false,
      ...defined({ thread_ts: threadId === "" ? undefined : threadId }),
    }),
    timeoutMs: TIMEOUT_MS,
    signal,
  }, clock);
  if (answer.answered) return readAnswer(answer, clock.now());
  const { message, mayHaveArrived } = answer;
  return { posted: false, reason: message, isTemporary: true, mayHaveArrived };
}

function readAnswer(answer: Answered, now: number): PostResult {
  const { status, headers } = answer;
  if (status === 429) {
    const afterSecs = askedPause(headers, now) ?? LIMIT_SECS;
    const reason = `Slack limits the rate of posts, and asks for a pause of ${afterSecs} s`;
    return { posted: false, reason, isTemporary: true, afterSecs, mayHaveArrived: false };
  }
  if (status >= 500) {
    const reason = `Slack answered with status ${status}`;
    const pause = defined({ afterSecs: askedPause(headers, now) });
    return { posted: false, reason, isTemporary: true, ...pause, mayHaveArrived: false };
  }
  const { ok, ts, error } = objectOf(answer);
  if (status < 300 && ok === true && typeof ts === "string") return { posted: true, ts };
  const word = typeof error === "string" ? error.slice(0, 80) : `status ${status}`;
  const reason = `Slack refused the post: ${word}`;
  return { posted: false, reason, isTemporary: false, mayHaveArrived: false };
}
