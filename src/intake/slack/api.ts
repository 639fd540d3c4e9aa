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

/** A text to post, and the thread it goes to. */
export interface Post {
  /** Channel id. */
  readonly channel: string;
  /** `ts` of the first post of the thread; empty for the channel itself. */
  readonly threadId: string;
  /** Plain text: markup, links and mentions in it have no effect. */
  readonly text: string;
}

/** How to reach Slack. */
export interface SlackAccess {
  /** Base URL of the Web API, without a slash at its end. */
  readonly apiUrl: string;
  /**
   * Reads the bot token as it is now: one that was rotated while a post waits is used for its next
   * attempt.
   */
  readonly token: () => string;
  readonly clock: Clock;
  /** Ends waiting and sending. */
  readonly signal: AbortSignal;
}

/** Base URL of the real Slack. */
export const SLACK_API_URL = "https://slack.com/api";

/** Longest text: Slack truncates longer ones. */
const MAX_TEXT = 40_000;
/** Attempts of one post. */
const MAX_ATTEMPTS = 5;
/** Longest pause asked for by Slack after which a post is not given up. */
const MAX_PAUSE_SECS = 300;
/** Deadline of one attempt. */
const ATTEMPT_TIMEOUT_MS = 10_000;
/** Most bytes of an answer that are read; a real one is little larger than the post. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Characters of a Slack token, all of which a header can hold. */
const TOKEN = /^[!-~]+$/;

/** Escapes a text for Slack: without this, `<!channel>` would notify the whole channel. */
export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/**
 * Posts a text, and waits as long as Slack asks for when it limits the rate. After a timeout the
 * text may have been posted, so it is not sent again.
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
    const result = await attempt(post, access);
    if ("ts" in result) return result.ts;
    if (access.signal.aborted) throw stopping();
    const { error, retryAfterSecs = Infinity } = result;
    if (retryAfterSecs > MAX_PAUSE_SECS || tries >= MAX_ATTEMPTS) throw error;
    await access.clock.pause(retryAfterSecs * 1000, access.signal);
    if (access.signal.aborted) throw stopping();
  }
}

function stopping(): AppError {
  return new AppError("unreachable", "The daemon is stopping, send the text again when it runs");
}

/**
 * The result of an attempt: the `ts` of the new post, or the error and, where another attempt may
 * help, the pause before it.
 */
type Tried = { readonly ts: string } | {
  readonly error: AppError;
  readonly retryAfterSecs?: number;
};

async function attempt({ channel, threadId, text }: Post, access: SlackAccess): Promise<Tried> {
  const token = access.token();
  if (!TOKEN.test(token)) { // an error of `fetch` would show it
    throw new AppError("refused", "The bot token has characters that no token has: set it again");
  }
  const timeout = new AbortController();
  using _timer = access.clock.after(ATTEMPT_TIMEOUT_MS, () => timeout.abort());
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
      const message = `Slack did not answer within ${
        ATTEMPT_TIMEOUT_MS / 1000
      } s, it may have posted the text`;
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

/** Parses `Retry-After`, with Slack a number of seconds; `undefined` for anything else. */
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
