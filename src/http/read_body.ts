/**
 * Reads the exact bytes of a request, within a size and a time (contract 3).
 *
 * @module
 */

import { concatBytes } from "../base/bytes.ts";
import { after } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { tellArrival } from "./arrival.ts";
import { letGo } from "./let_go.ts";
import { WaitingList } from "./waiting_list.ts";

/** What a body may cost. */
export interface BodyLimits {
  /** Most bytes. */
  readonly maxBytes: number;
  /** Longest time from headers to last byte. */
  readonly deadlineMs: number;
}

/**
 * The body, byte for byte.
 *
 * @throws {AppError} `too_large`, `timeout`, or `invalid` when it breaks off or its length is stated
 * twice.
 */
export async function readBody(
  request: Request,
  limits: BodyLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const length = request.headers.get("content-length");
  if (length !== null && request.headers.has("transfer-encoding")) {
    throw new AppError("invalid", "Both Content-Length and Transfer-Encoding");
  }
  const body = length !== null && Number(length) <= limits.maxBytes
    ? await withDeadline(readWhole(request), limits)
    : await readParts(request, limits, length !== null);
  tellArrival(request);
  letGo(request);
  return body;
}

/** A body whose length is known: Deno reads it in one piece, several times as fast as in parts. */
async function readWhole(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await request.bytes();
  } catch (cause) {
    throw new AppError("invalid", "The body broke off", { cause });
  }
}

/** A body in parts, as far as it may go; not at all when it is known to be too large. */
async function readParts(
  request: Request,
  limits: BodyLimits,
  tooLarge: boolean,
): Promise<Uint8Array<ArrayBuffer>> {
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  const read = tooLarge ? undefined : await withDeadline(readCounted(reader, limits), limits);
  if (read !== undefined) return read;
  await discard(reader);
  throw new AppError("too_large", `The body has more than ${limits.maxBytes} bytes`);
}

/** The body; `undefined` when it has more bytes than it may. */
async function readCounted(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limits: BodyLimits,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const parts: Uint8Array[] = [];
  let total = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      total += value.length;
      if (total > limits.maxBytes) return undefined;
      parts.push(value);
    }
  } catch (cause) {
    throw new AppError("invalid", "The body broke off", { cause });
  }
  const [only] = parts;
  if (parts.length === 1 && only?.buffer instanceof ArrayBuffer) {
    return only as Uint8Array<ArrayBuffer>;
  }
  return concatBytes(...parts);
}

/** What is still read of a body that is too large, and for how long. */
const DISCARDED = { bytes: 32 * 1024 * 1024, ms: 1000 };

/**
 * Reads on for a moment before the refusal: a connection that is closed with bytes unread is reset,
 * and the sender would never see the answer.
 */
async function discard(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const { promise: enough, resolve } = Promise.withResolvers<{ done: true; value: undefined }>();
  using _timer = after(DISCARDED.ms, () => resolve({ done: true, value: undefined }));
  for (let left = DISCARDED.bytes; left > 0;) {
    const { done, value } = await Promise.race([reader.read().catch(() => END), enough]);
    if (done) return;
    left -= value.length;
  }
}

const END = { done: true, value: undefined } as const;

/** Bodies on their way, by how long they may take. */
const lists = new Map<number, WaitingList>();

function withDeadline<T>(work: Promise<T>, { deadlineMs }: BodyLimits): Promise<T> {
  const list = lists.get(deadlineMs) ?? new WaitingList(deadlineMs);
  lists.set(deadlineMs, list);
  return list.wait(
    work,
    () => new AppError("timeout", `The body did not arrive within ${deadlineMs} ms`),
  );
}
