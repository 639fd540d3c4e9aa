/**
 * Output of a process, up to a size: what is beyond is read and thrown away.
 *
 * @module
 */

import { concatBytes } from "../base/bytes.ts";

/** Collects bytes. */
export class Capture {
  readonly #limit: number;
  readonly #parts: Uint8Array[] = [];
  #size = 0;

  /** Whether there was more than the limit. */
  overflowed = false;

  /** Keeps at most `limit` bytes. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes a chunk. */
  add(chunk: Uint8Array): void {
    const room = this.#limit - this.#size;
    if (chunk.length > room) this.overflowed = true;
    if (room <= 0) return;
    const kept = chunk.slice(0, room);
    this.#parts.push(kept);
    this.#size += kept.length;
  }

  /** What was kept. */
  bytes(): Uint8Array<ArrayBuffer> {
    return concatBytes(...this.#parts);
  }
}
