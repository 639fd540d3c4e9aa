/**
 * `chat.postMessage` of Slack's Web API
 * (https://docs.slack.dev/reference/methods/chat.postMessage): the only way anything is sent to
 * Slack. Where to is configuration; nothing of a payload chooses it.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json.ts";

/** What to post, and where. */
export interface Post {
  /** Channel id. */
  readonly channel: string;
  /** Post whose thread it goes to; the channel itself when empty. */
  readonly threadId: string;
  /** Plain text: nothing in it is markup, links or mentions. */
  readonly text: string;
}

/** How to reach Slack. */
export interface SlackAccess {
  /** Base URL of the Web API, without a slash at its end. */
  readonly apiUrl: string;
  /** Bot token as it is now: one that is rotated while a post waits is used for the next try. */
  readonly token: () => string;
  readonly clock: Clock;
  /** Ends waiting and sending. */
  readonly signal: AbortSignal;
}

/** Base URL of the real Slack. */
export const SLACK_API_URL = "https://slack.com/api";

/** Slack cuts longer texts off. */
const MAX_TEXT = 40_000;
/** How often one post is tried. */
const MAX_TRIES = 5;
/** Longest pause that is waited for before a post is given up. */
const MAX_PAUSE_SECS = 300;
/** How long one try may take. */
const TRY_MS = 10_000;
/** Most of an answer that is read; a real one has some hundred bytes, or those of the post. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** What a header can hold and a token of Slack consists of. */
const TOKEN = /^[!-~]+$/;

/** Slack's own escapes: without them `<!channel>` would call everybody. */
export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/**
 * Posts a text; waits as long as Slack asks for when it gets too many. What may have been posted,
 * because Slack took too long to say so, is not tried again.
 *
 * @returns The `ts` of the new post.
 * @throws {AppError} `too_large`; `refused` when Slack does not answer, or with its own word for
 * what is wrong; `overloaded` when it has no time for too long; `unreachable` when the daemon
 * stops.
 */
export async function postMessage(post: Post, access: SlackAccess): Promise<string> {
  if (post.text.length > 2 * MAX_TEXT || [...post.text].length > MAX_TEXT) {
    throw new AppError(
      "too_large",
      `A post has at most ${MAX_TEXT} characters, send a shorter text`,
    );
  }
  for (let tries = 1;; tries++) {
    const result = await tryOnce(post, access);
    if ("ts" in result) return result.ts;
    if (access.signal.aborted) throw stopping();
    const { error, retryAfterSecs = Infinity } = result;
    if (retryAfterSecs > MAX_PAUSE_SECS || tries >= MAX_TRIES) throw error;
    await access.clock.pause(retryAfterSecs * 1000, access.signal);
    if (access.signal.aborted) throw stopping();
  }
}

function stopping(): AppError {
  return new AppError("unreachable", "The daemon is stopping, send the text again when it runs");
}

/** A try: the new post's `ts`, or what is wrong and, where another try may help, after how long. */
type Tried = { readonly ts: string } | {
  readonly error: AppError;
  readonly retryAfterSecs?: number;
};

async function tryOnce({ channel, threadId, text }: Post, access: SlackAccess): Promise<Tried> {
  const token = access.token();
  if (!TOKEN.test(token)) { // an error of `fetch` would show it
    throw new AppError("refused", "The bot token has characters that no token has: set it again");
  }
  const timeout = new AbortController();
  using _timer = access.clock.after(TRY_MS, () => timeout.abort());
  try {
    const response = await fetch(`${access.apiUrl}/chat.postMessage`, {
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
        ...(threadId === "" ? {} : { thread_ts: threadId }),
      }),
      redirect: "manual", // the token goes to the configured host only
      signal: AbortSignal.any([access.signal, timeout.signal]),
    });
    return await readAnswer(response);
  } catch (cause) {
    if (timeout.signal.aborted) {
      const message = `Slack did not answer within ${TRY_MS / 1000} s, it may have posted the text`;
      return { error: new AppError("refused", message, { cause }) };
    }
    const message = `Slack cannot be reached at ${access.apiUrl}: ${messageOf(cause)}`;
    return { error: new AppError("refused", message, { cause }), retryAfterSecs: 1 };
  }
}

async function readAnswer(response: Response): Promise<Tried> {
  if (response.status === 429 || response.status >= 500) {
    await response.body?.cancel();
    const secs = findPauseSecs(response.headers.get("retry-after"));
    const asked = secs === undefined ? "" : `, and asks for a pause of ${secs} s`;
    return {
      error: new AppError("overloaded", `Slack answered with status ${response.status}${asked}`),
      retryAfterSecs: secs ?? 1,
    };
  }
  const answer = parseAnswer(await readText(response));
  const { ok, ts, error } = answer;
  if (response.ok && ok === true && typeof ts === "string") return { ts };
  const word = typeof error === "string" ? error.slice(0, 80) : `status ${response.status}`;
  return { error: new AppError("refused", `Slack refused the post: ${word}`) };
}

/** `Retry-After` is a number of seconds with Slack; of anything else nothing is known. */
function findPauseSecs(header: string | null): number | undefined {
  return header !== null && /^[0-9]+$/.test(header) ? Math.max(1, Number(header)) : undefined;
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of response.body ?? []) {
    text += decoder.decode(part, { stream: true });
    if (text.length > MAX_ANSWER_BYTES) return ""; // leaving the loop ends the stream
  }
  return text;
}

function parseAnswer(text: string): JsonObject {
  try {
    const answer = parseJson(text);
    return isJsonObject(answer) ? answer : {};
  } catch {
    return {};
  }
}
