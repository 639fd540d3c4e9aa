/**
 * The lines of a stream, none of which can fill the memory.
 *
 * @module
 */

import { concatBytes } from "../base/bytes.ts";

/** Stands for a line that was too long, all of which is gone. */
export const TOO_LONG = "too long";

const LINE_BREAK = 10;

/** The lines of a stream without their line breaks, also a last one that has none. */
export async function* inputLines(
  stream: ReadableStream<Uint8Array>,
  mostBytes: number,
): AsyncGenerator<Uint8Array | typeof TOO_LONG> {
  let parts: Uint8Array[] = [];
  let length = 0;
  const add = (part: Uint8Array) => {
    length += part.length;
    if (length <= mostBytes) parts.push(part.slice());
    else parts = [];
  };
  const take = () => {
    const line = length > mostBytes ? TOO_LONG : concatBytes(...parts);
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of stream) {
    let at = 0;
    for (let end = chunk.indexOf(LINE_BREAK); end !== -1; end = chunk.indexOf(LINE_BREAK, at)) {
      add(chunk.subarray(at, end));
      yield take();
      at = end + 1;
    }
    if (at < chunk.length) add(chunk.subarray(at));
  }
  if (length > 0) yield take();
}
