/**
 * Collects the output of a process up to a size, and discards the rest.
 *
 * @module
 */

import { concatBytes } from "../base/bytes.ts";

/** Collects the beginning of some output. */
export class Capture {
  readonly #limit: number;
  readonly #parts: Uint8Array[] = [];
  #size = 0;

  /** Whether there was more output than the limit. */
  overflowed = false;

  /** Keeps at most `limit` bytes. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Keeps a copy of `chunk`, as far as the limit allows. */
  add(chunk: Uint8Array): void {
    const room = this.#limit - this.#size;
    if (chunk.length > room) this.overflowed = true;
    if (room <= 0) return;
    const part = chunk.slice(0, room);
    this.#parts.push(part);
    this.#size += part.length;
  }

  /** The bytes within the limit. */
  bytes(): Uint8Array<ArrayBuffer> {
    return concatBytes(...this.#parts);
  }
}
