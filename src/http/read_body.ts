/**
 * Reads the exact bytes of a request, within a size and a time (contract 3).
 *
 * @module
 */

import { concatBytes } from "../base/bytes.ts";
import { pause } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";

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
  if (request.body === null) return new Uint8Array();
  if (length !== null && Number(length) > limits.maxBytes) {
    return await refuseTooLarge(request.body.getReader(), limits);
  }
  return await withDeadline(readCounted(request.body, limits), limits.deadlineMs);
}

async function readCounted(
  body: ReadableStream<Uint8Array>,
  limits: BodyLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  const reader = body.getReader();
  let total = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      total += value.length;
      if (total > limits.maxBytes) return await refuseTooLarge(reader, limits);
      parts.push(value);
    }
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
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
 * Reads on for a moment before it refuses: a connection that is closed with bytes unread is reset,
 * and the sender would never see the answer.
 */
async function refuseTooLarge(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limits: BodyLimits,
): Promise<never> {
  const enough = pause(DISCARDED.ms).then(() => ({ done: true, value: undefined }));
  for (let left = DISCARDED.bytes; left > 0;) {
    const { done, value } = await Promise.race([reader.read(), enough]);
    if (done) break;
    left -= value?.length ?? 0;
  }
  throw new AppError("too_large", `The body has more than ${limits.maxBytes} bytes`);
}

function withDeadline<T>(work: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new AppError("timeout", `The body did not arrive within ${ms} ms`)),
      ms,
    );
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
