/**
 * Bytes that arrive in parts, as one piece of memory that is never much larger than what has
 * arrived: a length that is only stated costs nothing, and nor does a body of many small parts.
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

/** Room for the first part. */
const FIRST_BYTES = 64 * 1024;

/** Bytes that are added to. */
export class GrowingBytes {
  readonly #most: number;
  #buffer = new ArrayBuffer();
  #length = 0;

  /** None yet; `most` is how many there will be, where that is known. */
  constructor(most = Infinity) {
    this.#most = most;
  }

  /** How many there are. */
  get length(): number {
    return this.#length;
  }

  /** Adds a copy of `part`. */
  add(part: Uint8Array): void {
    const needed = this.#length + part.length;
    if (needed > this.#buffer.byteLength) {
      const roomy = Math.max(FIRST_BYTES, this.#buffer.byteLength * 2);
      const room = Math.max(needed, Math.min(this.#most, roomy));
      this.#buffer = this.#buffer.transfer(room); // gives the old one back at once
    }
    new Uint8Array(this.#buffer).set(part, this.#length);
    this.#length = needed;
  }

  /** Gives the memory back at once, without waiting for the next collection of garbage. */
  clear(): void {
    this.#buffer.transfer(0);
    this.#buffer = new ArrayBuffer();
    this.#length = 0;
  }

  /** All of them; nothing can be added any more. */
  toBytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#buffer.transfer(this.#length));
  }
}
