/**
 * The calls of Slack's Web API that write: a post (`chat.postMessage`), the change of one
 * (`chat.update`), and a note that one person sees (`chat.postEphemeral`). The channel comes from the
 * configuration, never from a payload. See https://docs.slack.dev/reference/methods.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { askedPause } from "../../http/asked_pause.ts";
import { type Answered, send } from "../../http/send.ts";
import type { JsonObject } from "../../base/json.ts";
import { objectOf } from "../api/api_call.ts";

/** A text, and the channel or thread to which it goes. */
export interface Post {
  /** The id of the channel, such as `C0123456789`. */
  readonly channel: string;
  /** `ts` of the first post of the thread; empty for the channel itself. */
  readonly threadId: string;
  /** Plain text: markup, links and mentions in it have no effect. */
  readonly text: string;
  /** What is shown in its place; the text is then for lists of notifications. */
  readonly blocks?: readonly JsonObject[];
}

/** A post that is changed. */
export interface ChangedPost extends Pick<Post, "channel" | "text" | "blocks"> {
  /** `ts` of the post. */
  readonly ts: string;
}

/** A text that only one person sees, and nobody after they have left. */
export interface Note extends Pick<Post, "channel" | "threadId" | "text"> {
  /** Id of the person, such as `U0123456789`. */
  readonly user: string;
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
    /** Slack's own word for it; absent if it said none. */
    readonly word?: string;
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
export function postMessage(
  { channel, threadId, text, blocks }: Post,
  access: SlackAccess,
): Promise<PostResult> {
  const more = { unfurl_links: false, unfurl_media: false, ...inThread(threadId) };
  return write("chat.postMessage", { channel, ...content(text, blocks), ...more }, access);
}

/** Changes a post of the same app; no effect the second time. */
export function updateMessage(
  { channel, ts, text, blocks }: ChangedPost,
  access: SlackAccess,
): Promise<PostResult> {
  return write("chat.update", { channel, ts, ...content(text, blocks) }, access);
}

/** Shows a text to one person in a channel. */
export function postNote(
  { channel, threadId, user, text }: Note,
  access: SlackAccess,
): Promise<PostResult> {
  const body = { channel, user, ...content(text), ...inThread(threadId) };
  return write("chat.postEphemeral", body, access);
}

function content(text: string, blocks?: readonly JsonObject[]): JsonObject {
  const plain = { parse: "none", link_names: false, mrkdwn: false };
  return { text: escapeText(text), ...plain, ...defined({ blocks }) };
}

function inThread(threadId: string): JsonObject {
  return threadId === "" ? {} : { thread_ts: threadId };
}

async function write(
  method: string,
  body: JsonObject,
  { apiUrl, token, clock, signal }: SlackAccess,
): Promise<PostResult> {
  const answer = await send(`${apiUrl}/${method}`, {
    method: "POST",
    headers: {
      "authorization": `Bearer ${token}`,
      "content-type": "application/json; charset=utf-8",
    },
    body: JSON.stringify(body),
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
  const { ok, ts, message_ts: noted, error } = objectOf(answer);
  const id = ts ?? noted;
  if (status < 300 && ok === true && typeof id === "string") return { posted: true, ts: id };
  const word = typeof error === "string" ? error.slice(0, 80) : undefined;
  const reason = `Slack refused the post: ${word ?? `status ${status}`}`;
  return { posted: false, reason, ...defined({ word }), isTemporary: false, mayHaveArrived: false };
}
