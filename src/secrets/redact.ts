/**
 * Hides secret values in a stream of output: every value of six bytes or more and its forms
 * (`secret_forms.ts`), also where they overlap, and where a chunk ends in the middle of one.
 *
 * ```ts
 * import { Redactor, SecretPattern } from "./redact.ts";
 * import { secretForms } from "./secret_forms.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const pattern = new SecretPattern(secretForms("s3cr3t!"));
 * const redactor = new Redactor(() => pattern);
 * const bytes = (text: string) => new TextEncoder().encode(text);
 * const out = [redactor.push(bytes("key s3c")), redactor.push(bytes("r3t! end")), redactor.flush()];
 * equal(out.map((part) => new TextDecoder().decode(part)).join(""), "key *** end");
 * ```
 *
 * @module
 */

import { concatBytes, utf8 } from "../base/bytes.ts";
import { MASK } from "../resources/names.ts";

const MASK_BYTES = utf8(MASK);
const NOTHING = new Uint8Array();

/** Number of bytes at the beginning of a form that are its key; every form is longer. */
const KEY_BYTES = 4;
/** Bits of the filter for each form: with so many, hardly any text but a secret passes the filter. */
const FILTER_BITS_PER_FORM = 32;
const MIN_FILTER_BITS = 16;
const MAX_FILTER_BITS = 24;
/** Number of bytes that {@linkcode SecretPattern.spansIn} searches at once. */
const PART_BYTES = 256 * 1024;

/** A range in some bytes or in a list; `to` is not in it. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Forms of secrets, arranged so that a search takes the same time for one form and for thousands. */
export class SecretPattern {
  /** Sorted, so that forms with a common beginning are neighbours, the shortest first. */
  readonly #forms: readonly string[];
  /** The range of the forms with the same key, their first four bytes. */
  readonly #byKey = new Map<number, Span>();
  /** The first one, two and three bytes of each form. */
  readonly #beginnings = new Set<number>();
  /** A bit for the hash of each key: the search goes no further for nearly every byte of ordinary text. */
  readonly #filter: Uint8Array;
  /** Number of bits by which a hash is shifted to become a place in the filter. */
  readonly #shift: number;

  /** A pattern of these forms, which are texts of code units 0 to 255. */
  constructor(forms: Iterable<string>) {
    this.#forms = [...new Set(forms)].sort();
    const ideal = Math.ceil(Math.log2(this.#forms.length * FILTER_BITS_PER_FORM + 1));
    const bits = Math.min(MAX_FILTER_BITS, Math.max(MIN_FILTER_BITS, ideal));
    this.#filter = new Uint8Array(1 << (bits - 3));
    this.#shift = 32 - bits;
    for (let from = 0, to = 0; from < this.#forms.length; from = to) {
      const start = this.#forms[from]?.slice(0, KEY_BYTES) ?? "";
      for (to = from + 1; this.#forms[to]?.startsWith(start) === true;) to++;
      let key = 0;
      for (let at = 0; at < KEY_BYTES; at++) {
        key = key << 8 | start.charCodeAt(at);
        if (at + 1 < KEY_BYTES) this.#beginnings.add(beginning(key, at + 1));
      }
      const place = placeOf(key, this.#shift);
      this.#filter[place >>> 3] = (this.#filter[place >>> 3] ?? 0) | 1 << (place & 7);
      this.#byKey.set(key, { from, to });
    }
  }

  /** Whether the pattern has no form. */
  get isEmpty(): boolean {
    return this.#forms.length === 0;
  }

  /**
   * `matches` are the ranges of `bytes` in which a form is found, in order, the longest form where
   * several begin. `begun` is the start of an end of `bytes` that may be the beginning of a form; the
   * length of `bytes` if there is none, or if nothing follows (`more` is false).
   */
  search(bytes: Uint8Array, more: boolean): { matches: readonly Span[]; begun: number } {
    const matches: Span[] = [];
    const filter = this.#filter;
    const shift = this.#shift;
    let key = 0;
    for (let next = 0; next < bytes.length; next++) {
      key = key << 8 | (bytes[next] ?? 0);
      const place = placeOf(key, shift);
      if (((filter[place >>> 3] ?? 0) & 1 << (place & 7)) === 0 || next < KEY_BYTES - 1) continue;
      const among = this.#byKey.get(key);
      if (among === undefined) continue;
      const from = next - KEY_BYTES + 1;
      const { length, goesOn } = this.#longestAt(bytes, from, among);
      if (goesOn && more) return { matches, begun: from };
      if (length > 0) matches.push({ from, to: from + length });
    }
    return { matches, begun: more ? this.#firstBeginning(bytes) : bytes.length };
  }

  /**
   * The ranges of `bytes` in which a form is found, in order, with memory for one part of them only;
   * `undefined` between two parts, so that the caller can let other work go on.
   */
  *spansIn(bytes: Uint8Array): Generator<Span | undefined, void> {
    if (this.isEmpty) return;
    let size = PART_BYTES;
    for (let at = 0; at < bytes.length;) {
      const { matches, begun } = this.search(
        bytes.subarray(at, at + size),
        at + size < bytes.length,
      );
      for (const { from, to } of matches) yield { from: at + from, to: at + to };
      size = begun === 0 ? 2 * size : PART_BYTES; // a form may be longer than a part
      at += begun;
      if (at < bytes.length) yield undefined;
    }
  }

  /**
   * The length of the longest form of the range `among` that is found at `from`, 0 if there is none; and
   * whether `bytes` end in the middle of a longer one. Each byte narrows the range.
   */
  #longestAt(bytes: Uint8Array, from: number, among: Span): { length: number; goesOn: boolean } {
    let { from: low, to: high } = among;
    let longest = 0;
    for (let length = KEY_BYTES;; length++) {
      if (low < high && this.#forms[low]?.length === length) {
        longest = length;
        low++;
      }
      if (low >= high) return { length: longest, goesOn: false };
      if (from + length >= bytes.length) return { length: longest, goesOn: true };
      const byte = bytes[from + length] ?? 0;
      low = this.#firstFrom(low, high, length, byte);
      if (this.#byteOf(high - 1, length) > byte) {
        high = this.#firstFrom(low, high, length, byte + 1);
      }
    }
  }

  /**
   * The first form of a range whose byte at `at` is `byte` or a greater one, by binary search. Up to
   * there all forms of the range are equal.
   */
  #firstFrom(low: number, high: number, at: number, byte: number): number {
    if (low >= high || this.#byteOf(low, at) >= byte) return low;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#byteOf(middle, at) < byte) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #byteOf(form: number, at: number): number {
    return this.#forms[form]?.charCodeAt(at) ?? 0;
  }

  /** The start of the last bytes, too few for a key, with which a form begins. */
  #firstBeginning(bytes: Uint8Array): number {
    for (let length = Math.min(KEY_BYTES - 1, bytes.length); length > 0; length--) {
      const start = bytes.subarray(-length).reduce((key, byte) => key << 8 | byte, 0);
      if (this.#beginnings.has(beginning(start, length))) return bytes.length - length;
    }
    return bytes.length;
  }
}

function placeOf(key: number, shift: number): number {
  return Math.imul(key, 0x9e3779b1) >>> shift;
}

/** Up to three bytes as one number, which also has their count. */
function beginning(bytes: number, length: number): number {
  return length << 24 | bytes;
}

/** Replaces secrets in one stream of bytes. Secrets that overlap become one mask. */
export class Redactor {
  readonly #pattern: () => SecretPattern;
  /** The end of the stream so far, with which a secret may begin. */
  #held: Uint8Array = NOTHING;
  /** Number of bytes of `#held` that need no output any more: masked, or released. */
  #covered = 0;
  /** Whether `#held` has been released: if it turns out to begin a secret, a mask follows for the rest. */
  #released = false;

  /** A redactor for one stream, which asks for the pattern at each chunk. */
  constructor(pattern: () => SecretPattern) {
    this.#pattern = pattern;
  }

  /** The output for the stream so far; holds back bytes that may begin a secret. */
  push(chunk: Uint8Array): Uint8Array {
    if (this.#held.length === 0 && this.#pattern().isEmpty) return chunk;
    return this.#next(concatBytes(this.#held, chunk), true);
  }

  /**
   * The bytes that were held back, if they are too few to reveal anything of a secret: for a line that
   * does not go on, such as a prompt. If they turn out to begin a secret, its rest is hidden.
   */
  release(): Uint8Array {
    if (!this.isWaiting) return NOTHING;
    this.#covered = this.#held.length;
    this.#released = true;
    return this.#held;
  }

  /** Whether there are bytes to {@linkcode release}. */
  get isWaiting(): boolean {
    return this.#held.length > 0 && this.#held.length < KEY_BYTES && this.#covered === 0;
  }

  /** The last output, at the end of the stream. */
  flush(): Uint8Array {
    return this.#held.length === 0 ? NOTHING : this.#next(this.#held, false);
  }

  /** The output for `bytes`, without an end that may begin a secret: that comes again with the next. */
  #next(bytes: Uint8Array, more: boolean): Uint8Array {
    const { matches, begun } = this.#pattern().search(bytes, more);
    const shown: Uint8Array[] = [];
    let hidden = this.#covered;
    let isMasked = !this.#released;
    for (const { from, to } of matches) {
      if (from >= hidden) shown.push(bytes.subarray(hidden, from), MASK_BYTES);
      else if (!isMasked) shown.push(MASK_BYTES);
      isMasked = true;
      hidden = Math.max(hidden, to);
    }
    if (hidden < begun) shown.push(bytes.subarray(hidden, begun));
    this.#held = bytes.slice(begun);
    this.#released &&= begun < this.#covered && !isMasked;
    this.#covered = Math.max(0, hidden - begun);
    return concatBytes(...shown);
  }
}
