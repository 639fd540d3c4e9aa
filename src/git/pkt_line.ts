/**
 * The lines of git's protocol (gitprotocol-common): four hexadecimal digits with the length, then the
 * bytes. Pure, and bounded: a line has at most 65,520 bytes, and a reader takes no more than it is told.
 *
 * ```ts
 * import { FLUSH, pktLine, readPktLines } from "./pkt_line.ts";
 * import { concatBytes } from "../base/bytes.ts";
 * import { deepStrictEqual as deepEqual } from "node:assert/strict";
 *
 * const stream = new Blob([concatBytes(pktLine("ok\n"), FLUSH)]).stream();
 * const lines = await Array.fromAsync(readPktLines(stream, { maxBytes: 100 }));
 * deepEqual(lines.map((line) => line && new TextDecoder().decode(line)), ["ok\n", undefined]);
 * ```
 *
 * @module
 */

import { concatBytes, utf8 } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";

/** Most bytes of a line, its length included. */
const MAX_LINE = 65_520;

/** Ends a list of lines. */
export const FLUSH = utf8("0000");

/** A text as one line; throws a `RangeError` for one that is too long. */
export function pktLine(text: string): Uint8Array<ArrayBuffer> {
  const bytes = utf8(text);
  const length = bytes.length + 4;
  if (length > MAX_LINE) throw new RangeError("Too long for a line of git's protocol");
  return concatBytes(utf8(length.toString(16).padStart(4, "0")), bytes);
}

/**
 * The lines of a stream; `undefined` stands for a flush. Reads the stream to its end unless the loop is
 * left.
 *
 * @throws {AppError} `invalid` for what is no such line, for a stream that ends within a line, and for
 * one of more than `maxBytes`. The message goes on after "The server ".
 */
export async function* readPktLines(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { maxBytes }: { readonly maxBytes: number },
): AsyncGenerator<Uint8Array<ArrayBuffer> | undefined> {
  let parts: Uint8Array[] = [];
  let [total, held, wanted] = [0, 0, 4];
  for await (const chunk of stream) {
    total += chunk.length;
    if (total > maxBytes) throw wrong(`sent more than ${maxBytes} bytes`);
    parts.push(chunk);
    held += chunk.length;
    if (held < wanted) continue; // joined once for a line, however small its chunks are
    const bytes = concatBytes(...parts);
    let at = 0;
    wanted = 4;
    while (bytes.length - at >= 4) {
      const length = lengthAt(bytes, at);
      if (bytes.length - at < length) {
        wanted = length;
        break;
      }
      yield length === 0 ? undefined : bytes.slice(at + 4, at + length);
      at += Math.max(4, length);
    }
    parts = [bytes.slice(at)];
    held = bytes.length - at;
  }
  if (held > 0) throw wrong("ended its answer within a line");
}

/** The length of the line at `at`; 0 for a flush. */
function lengthAt(bytes: Uint8Array, at: number): number {
  const digits = String.fromCharCode(...bytes.subarray(at, at + 4));
  const length = /^[0-9a-fA-F]{4}$/.test(digits) ? parseInt(digits, 16) : -1;
  if (length === 0 || length >= 4 && length <= MAX_LINE) return length;
  throw wrong("sent what is not git's protocol");
}

function wrong(message: string): AppError {
  return new AppError("invalid", message);
}
