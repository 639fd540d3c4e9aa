/**
 * Sends one request and reads its answer: the door through which the daemon talks to other servers.
 * The URL comes from the caller's configuration, never from a payload. No redirect is followed: it
 * would send a token to another host than the configured one. No error holds the path or a header,
 * which may be secret.
 *
 * @module
 */

import { withCertificateAdvice } from "../base/certificate_advice.ts";
import type { Clock } from "../base/clock.ts";
import { AppError, messageOf } from "../base/errors.ts";

/** Longest time for the answer of an address that an admin tries. */
const TRIAL_MS = 60_000;
/** Longest time for the answer of a platform, which waits meanwhile for the answer to its own request. */
const PLATFORM_MS = 5000;
/** Most bytes of an answer that are shown to a person. */
const MAX_SHOWN_BYTES = 64 * 1024;
/** Most bytes of an answer that are read, unless the caller sets another limit. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** A request to another server, whose answer its sender reads. */
export interface OutgoingRequest {
  /** The method; `GET` if absent. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A stream is sent piece by piece, as it comes. */
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Longest time until the answer has been read, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** A request to another server. */
export interface Outgoing extends OutgoingRequest {
  /** Most bytes of the answer that are read; a longer one is cut. */
  readonly maxBytes?: number;
}

/** The answer of a server. */
export interface Answered {
  readonly answered: true;
  readonly status: number;
  readonly headers: Headers;
  /** The body, or its beginning. */
  readonly text: string;
  /** Whether the body was longer than `maxBytes`. */
  readonly cut: boolean;
}

/** Why a request was not answered. */
export type Fault = "dns" | "refused" | "tls" | "connection" | "timeout" | "stopped";

/** The outcome of a request that was not answered. */
export interface Unanswered {
  readonly answered: false;
  readonly fault: Fault;
  /** Whether the server may have received the request. */
  readonly mayHaveArrived: boolean;
  /** One sentence without a full stop; names the host. */
  readonly message: string;
}

/** Sends a request; never rejects. */
export async function send(
  url: string,
  outgoing: Outgoing,
  clock: Pick<Clock, "after">,
): Promise<Answered | Unanswered> {
  const { maxBytes = MAX_ANSWER_BYTES, ...request } = outgoing;
  return await exchange(url, request, clock, async (response): Promise<Answered> => {
    const { text, cut } = await beginningOf(response, maxBytes);
    return { answered: true, status: response.status, headers: response.headers, text, cut };
  });
}

/**
 * Sends a request, and returns what `read` makes of its answer within the same time. `read` bounds how
 * much it reads. Rejects with an `AppError` of `read`; any other error is one of the connection.
 */
export async function exchange<Read>(
  url: string,
  outgoing: OutgoingRequest,
  clock: Pick<Clock, "after">,
  read: (response: Response) => Promise<Read>,
): Promise<Read | Unanswered> {
  const { method = "GET", headers = {}, body, timeoutMs } = outgoing;
  const timeout = new AbortController();
  using _timer = clock.after(timeoutMs, () => timeout.abort());
  const stopped = outgoing.signal;
  const signal = stopped === undefined
    ? timeout.signal
    : AbortSignal.any([timeout.signal, stopped]);
  const init = { method, headers, redirect: "manual", signal } as const;
  try {
    const response = await fetch(url, body === undefined ? init : { ...init, body });
    try {
      return await read(response);
    } finally {
      // What was not read would keep the connection open.
      if (response.body?.locked === false) await response.body.cancel().catch(() => {});
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    const host = URL.parse(url)?.host ?? "an address that is not a URL";
    if (stopped?.aborted === true) {
      return unanswered("stopped", `The request to ${host} was cancelled`);
    }
    if (signal.aborted) {
      const message = `${host} did not answer within ${timeoutMs / 1000} seconds`;
      return unanswered("timeout", message);
    }
    return explain(host, messagesOf(error));
  }
}

function unanswered(fault: Fault, message: string, mayHaveArrived = true): Unanswered {
  return { answered: false, fault, mayHaveArrived, message };
}

/** The messages of the runtime's error: the reason is in the error, or in its cause with newer Deno. */
function messagesOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
  return `${messageOf(error)} ${cause}`;
}

/** Makes a sentence of the runtime's messages, without the URL that they repeat. */
function explain(host: string, messages: string): Unanswered {
  if (/port \d+ (is|are) blocked/.test(messages)) {
    return unanswered("connection", `svc sends nothing to the port of ${host}`, false);
  }
  const [, inside] = /client error \(Connect\): (.*)$/s.exec(messages) ??
    /(Failed opening CA file: .*)$/s.exec(messages) ?? [];
  if (inside === undefined) {
    return unanswered("connection", `The connection to ${host} ended before its answer`);
  }
  if (inside.startsWith("dns error")) {
    return unanswered("dns", `The name of ${host} is not known (DNS)`, false);
  }
  if (/connection refused/i.test(inside)) {
    return unanswered("refused", `Nothing listens at ${host}`, false);
  }
  if (/certificate|tls|handshake|InvalidContentType|CA file/i.test(inside)) {
    const why = withCertificateAdvice(inside.slice(0, 200).trim());
    return unanswered("tls", `No secure connection to ${host}: ${why}`, false);
  }
  return unanswered("connection", `${host} cannot be reached: ${inside.slice(0, 200)}`, false);
}

/** The body as text, up to the limit, without waiting for the rest. */
async function beginningOf(
  { body }: Response,
  maxBytes: number,
): Promise<{ text: string; cut: boolean }> {
  if (body === null) return { text: "", cut: false };
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of body) { // leaving the loop cancels the rest
    const rest = maxBytes - bytes;
    text += decoder.decode(chunk.subarray(0, rest), { stream: true });
    bytes += chunk.length;
    if (bytes > maxBytes) return { text, cut: true };
  }
  return { text, cut: false };
}

/** The headers and the body of a POST. */
export interface PostedRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** The answer to a POST or a GET. */
export interface PostAnswer {
  readonly status: number;
  /** The body as text, or its beginning. */
  readonly answer: string;
}

/**
 * Posts a request to an address that an admin tries.
 *
 * @throws {AppError} `refused` when nothing answers within a minute.
 */
export async function post(
  url: string,
  { headers, body }: PostedRequest,
  clock: Clock,
): Promise<PostAnswer> {
  return await answerOf(url, { method: "POST", headers, body, timeoutMs: TRIAL_MS }, clock);
}

/**
 * Requests a URL of a platform.
 *
 * @throws {AppError} `refused` when nothing answers within five seconds.
 */
export async function get(url: string, clock: Clock): Promise<PostAnswer> {
  return await answerOf(url, { timeoutMs: PLATFORM_MS }, clock);
}

/**
 * Visits a URL of a platform to confirm that its request has arrived.
 *
 * @throws {AppError} `overloaded` when the platform does not answer with 200.
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

async function answerOf(url: string, outgoing: Outgoing, clock: Clock): Promise<PostAnswer> {
  const sent = await send(url, { ...outgoing, maxBytes: MAX_SHOWN_BYTES }, clock);
  if (sent.answered) return { status: sent.status, answer: sent.text };
  throw new AppError("refused", sent.message);
}
