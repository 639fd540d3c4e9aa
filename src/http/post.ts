/**
 * Sends one request and reads the beginning of its answer: the door through which the daemon tries
 * an address that an admin names, and asks the servers of platforms.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { AppError, messageOf } from "../base/errors.ts";

/** Longest time to wait for the answer. */
const ANSWER_MS = 60_000;
/** The same for the server of a platform: the one who is waiting for us is that platform, too. */
const PLATFORM_MS = 5000;
/** Most of the answer that is read. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** What is posted. */
export interface PostedRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** What came back. */
export interface PostAnswer {
  readonly status: number;
  /** The body as text, its beginning where it is long. */
  readonly answer: string;
}

/**
 * Posts a request; no redirection is followed.
 *
 * @throws {AppError} `refused` when nothing answers within a minute.
 */
export async function post(
  url: string,
  { headers, body }: PostedRequest,
  clock: Clock,
): Promise<PostAnswer> {
  return await send(url, { method: "POST", headers, body }, { ms: ANSWER_MS, clock });
}

/**
 * Gets what a server of a platform has; no redirection is followed.
 *
 * @throws {AppError} `refused` when nothing answers within five seconds.
 */
export async function get(url: string, clock: Clock): Promise<PostAnswer> {
  return await send(url, {}, { ms: PLATFORM_MS, clock });
}

/**
 * Visits a URL of a platform, by which it learns that its request has arrived.
 *
 * @throws {AppError} `overloaded` when it does not answer that this is well.
 */
export async function visit(url: string, clock: Clock): Promise<void> {
  const { host } = new URL(url);
  const fail = (why: string): never => {
    const reason = `${host} could not be told that its request has arrived: ${why}`;
    throw new AppError("overloaded", "Cannot be confirmed now", { reason });
  };
  const { status } = await get(url, clock).catch((error) => fail(messageOf(error)));
  if (status !== 200) fail(`it answered ${status}`);
}

async function send(
  url: string,
  init: RequestInit,
  { ms, clock }: { readonly ms: number; readonly clock: Clock },
): Promise<PostAnswer> {
  const timeout = new AbortController();
  using _timer = clock.after(ms, () => timeout.abort());
  const { signal } = timeout;
  try {
    const response = await fetch(url, { ...init, redirect: "manual", signal });
    return { status: response.status, answer: await beginningOf(response) };
  } catch (error) {
    const why = signal.aborted ? `it took longer than ${ms / 1000} seconds` : messageOf(error);
    throw new AppError("refused", `No answer from ${url}: ${why}`, { cause: error });
  }
}

/** The answer as text, up to the limit; what comes behind that is not waited for. */
async function beginningOf({ body }: Response): Promise<string> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of body) { // leaving the loop cancels the rest
    text += decoder.decode(chunk, { stream: true });
    bytes += chunk.length;
    if (bytes >= MAX_ANSWER_BYTES) break;
  }
  return text;
}
