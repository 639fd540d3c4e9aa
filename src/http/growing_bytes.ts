/**
 * Bytes that arrive in parts, in one buffer that is never much larger than they are: a stated
 * length takes no memory by itself, and neither do many small parts.
 *
 * ```ts
 * import { GrowingBytes } from "./growing_bytes.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const bytes = new GrowingBytes(3);
 * bytes.add(new Uint8Array([1, 2]));
 * bytes.add(new Uint8Array([3]));
 * equal(bytes.toBytes().join(), "1,2,3");
 * ```
 *
 * @module
 */

/** Least size of the buffer, unless fewer bytes are expected. */
const FIRST_BYTES = 64 * 1024;

/** A buffer that grows. */
export class GrowingBytes {
  readonly #most: number;
  #buffer = new ArrayBuffer();
  #length = 0;

  /** Empty; `most` is the number of bytes that will be added, where it is known. */
  constructor(most = Infinity) {
    this.#most = most;
  }

  get length(): number {
    return this.#length;
  }

  /** Adds a copy of `part`. */
  add(part: Uint8Array): void {
    const needed = this.#length + part.length;
    if (needed > this.#buffer.byteLength) {
      const doubled = Math.max(FIRST_BYTES, this.#buffer.byteLength * 2);
      const size = Math.max(needed, Math.min(this.#most, doubled));
      this.#buffer = this.#buffer.transfer(size); // frees the old one at once
    }
    new Uint8Array(this.#buffer).set(part, this.#length);
    this.#length = needed;
  }

  /** Frees the memory at once, without waiting for the next collection of garbage. */
  clear(): void {
    this.#buffer.transfer(0);
    this.#buffer = new ArrayBuffer();
    this.#length = 0;
  }

  /** All bytes; none can be added any more. */
  toBytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#buffer.transfer(this.#length));
  }
}
