/**
 * Reads the exact bytes of a request, within a size and a time (contract 3).
 *
 * @module
 */

import { concatBytes } from "../base/bytes.ts";
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
  if (length !== null && Number(length) > limits.maxBytes) throw tooLarge(limits);
  if (request.body === null) return new Uint8Array();
  return await withDeadline(readCounted(request.body, limits), limits.deadlineMs);
}

async function readCounted(
  body: ReadableStream<Uint8Array>,
  limits: BodyLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let total = 0;
  try {
    for await (const part of body) {
      total += part.length;
      if (total > limits.maxBytes) throw tooLarge(limits);
      parts.push(part);
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

function tooLarge(limits: BodyLimits): AppError {
  return new AppError("too_large", `The body has more than ${limits.maxBytes} bytes`);
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
