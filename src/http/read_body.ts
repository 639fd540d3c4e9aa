/**
 * Reads the exact bytes of a request, within limits of size and time and within a budget.
 *
 * @module
 */

import { systemClock } from "../base/clock.ts";
import { AppError, toAppError } from "../base/errors.ts";
import { tellArrival } from "./arrival.ts";
import type { HeldBytes } from "./body_budget.ts";
import { GrowingBytes } from "./growing_bytes.ts";
import { releaseRequest } from "./release_request.ts";
import { SharedTimeout } from "./shared_timeout.ts";

/** The limits of a body. */
export interface BodyLimits {
  readonly maxBytes: number;
  /** Longest time from the headers to the last byte. */
  readonly deadlineMs: number;
}

/**
 * The body, byte for byte. `held` takes its bytes from a budget until the caller releases it.
 *
 * @throws {AppError} `too_large`, `timeout`, `overloaded`, or `invalid` when the body breaks off or its
 * length is stated in two ways.
 */
export async function readBody(
  request: Request,
  { headers, limits, held }: {
    /** The headers of the request, names in lower case. */
    readonly headers: Readonly<Record<string, string>>;
    readonly limits: BodyLimits;
    readonly held: HeldBytes;
  },
): Promise<Uint8Array<ArrayBuffer>> {
  const { "content-length": stated, "transfer-encoding": coding } = headers;
  if (stated !== undefined && coding !== undefined) {
    throw new AppError("invalid", "Both Content-Length and Transfer-Encoding");
  }
  const length = stated === undefined ? undefined : Number(stated);
  const inOnePiece = length !== undefined && length <= limits.maxBytes && held.expect(length);
  const body = inOnePiece
    ? await withDeadline(request.bytes().catch(brokenOff), limits) // several times as fast as parts
    : await readParts(request, { ...limits, length, held });
  held.arrived();
  tellArrival(request);
  releaseRequest(request);
  return body;
}

/** Throws the refusal of a body that broke off. */
export function brokenOff(cause: unknown): never {
  throw new AppError("invalid", "The connection ended before the body was complete", { cause });
}

/** The limits of a body that is read in parts. */
interface Parts extends BodyLimits {
  /** Its stated length, if it states one. */
  readonly length: number | undefined;
  readonly held: HeldBytes;
}

/** A body in parts, up to its limits; a body whose stated length is too large is not read. */
async function readParts(request: Request, parts: Parts): Promise<Uint8Array<ArrayBuffer>> {
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  const bytes = new GrowingBytes(parts.length);
  try {
    return await withDeadline(collect(reader, bytes, parts), parts);
  } catch (error) {
    bytes.clear();
    parts.held.release(); // at once, for other requests
    const { code } = toAppError(error);
    if (code === "too_large" || code === "overloaded") await discard(reader);
    await reader.cancel().catch(() => {}); // the rest of the body must not fill memory
    throw error;
  }
}

async function collect(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  bytes: GrowingBytes,
  { length, maxBytes, held }: Parts,
): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = () => new AppError("too_large", `The body has more than ${maxBytes} bytes`);
  if (length !== undefined && length > maxBytes) throw tooLarge();
  for (;;) {
    const { done, value } = await reader.read().catch(brokenOff);
    if (done) return bytes.toBytes();
    if (bytes.length + value.length > maxBytes) throw tooLarge();
    held.take(value.length, length);
    bytes.add(value);
    free(value);
  }
}

/** How much is read of a body after its refusal, and for how long. */
const DISCARDED = { bytes: 32 * 1024 * 1024, ms: 1000 };

/**
 * Reads on for a moment before the refusal: a connection that is closed with unread bytes is reset, and
 * then the sender does not see the answer.
 */
export async function discard(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const { promise: enough, resolve } = Promise.withResolvers<{ done: true; value: undefined }>();
  using _timer = systemClock.after(DISCARDED.ms, () => resolve({ done: true, value: undefined }));
  for (let left = DISCARDED.bytes; left > 0;) {
    const { done, value } = await Promise.race([reader.read().catch(() => END), enough]);
    if (done) return;
    left -= value.length;
    free(value);
  }
}

/**
 * Frees the memory of a part at once: each part takes 64 KiB, even a short one, and a flood of parts
 * is faster than the collection of garbage.
 */
export function free({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

const END = { done: true, value: undefined } as const;

/** The bodies that are arriving, by their deadline. */
const lists = new Map<number, SharedTimeout>();

/**
 * Keeps the timer of bodies with this deadline running until disposed, for a server that receives
 * many.
 */
export function keepBodyTimer({ deadlineMs }: BodyLimits): Disposable {
  return listOf(deadlineMs).keepTimer();
}

function listOf(deadlineMs: number): SharedTimeout {
  const known = lists.get(deadlineMs);
  if (known !== undefined) return known;
  const list = new SharedTimeout(deadlineMs, systemClock);
  lists.set(deadlineMs, list);
  return list;
}

/** Waits for `work` until the deadline of a body. */
export function withDeadline<T>(
  work: Promise<T>,
  { deadlineMs }: Pick<BodyLimits, "deadlineMs">,
): Promise<T> {
  return listOf(deadlineMs).wait(
    work,
    () => new AppError("timeout", `The body did not arrive within ${deadlineMs} ms`),
  );
}
