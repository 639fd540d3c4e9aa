/**
 * Hides secret values in a stream of output: every value of six bytes or more, its
 * base64 and percent forms, whatever overlaps and wherever a chunk border cuts it.
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
import { MASK } from "../resources/secret_store.ts";

const MASK_BYTES = utf8(MASK);
const NOTHING = new Uint8Array();

/** Bytes of a form by which it is found; every form is longer. */
const KEY_BYTES = 4;
/** Bits of the filter for each form: so few others pass that it tells nearly all text from secrets. */
const FILTER_BITS_PER_FORM = 32;
const MIN_FILTER_BITS = 16;
const MAX_FILTER_BITS = 24;

/** A place in some bytes or in a list: where it begins, and where it ends. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** Forms of secrets, arranged so that a search costs the same for one of them and for thousands. */
export class SecretPattern {
  /** Sorted, so that those with a common beginning stand together, the shortest first. */
  readonly #forms: readonly string[];
  /** Which of them have a key, their first four bytes. */
  readonly #byKey = new Map<number, Span>();
  /** What forms begin with, up to three bytes. */
  readonly #beginnings = new Set<number>();
  /** A bit for each place of a key: nearly every byte of ordinary text ends here. */
  readonly #filter: Uint8Array;
  /** Which bits of a key's hash are its place in the filter. */
  readonly #shift: number;

  /** A pattern of these forms, which are texts of code units 0 to 255. */
  constructor(forms: Iterable<string>) {
    this.#forms = [...new Set(forms)].sort();
    const wanted = Math.ceil(Math.log2(this.#forms.length * FILTER_BITS_PER_FORM + 1));
    const bits = Math.min(MAX_FILTER_BITS, Math.max(MIN_FILTER_BITS, wanted));
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

  /** Whether there is nothing to hide. */
  get isEmpty(): boolean {
    return this.#forms.length === 0;
  }

  /**
   * Every place of `bytes` where a form stands, in order, the longest where several begin; and
   * where the end of `bytes` starts that may be the beginning of one, unless nothing follows.
   */
  search(bytes: Uint8Array, more: boolean): { found: readonly Span[]; begun: number } {
    const found: Span[] = [];
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
      if (goesOn && more) return { found, begun: from };
      if (length > 0) found.push({ from, to: from + length });
    }
    return { found, begun: more ? this.#firstBeginning(bytes) : bytes.length };
  }

  /**
   * The length of the longest of these forms that stands at `from`, 0 where none does; and whether
   * `bytes` end in a longer one. Byte by byte, fewer and fewer of them fit.
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

  /** The first form of a part of the list, which differs here only, with this byte or a later one. */
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

  /** Of the last bytes, which are too few for a key. */
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

/** Up to three bytes, told apart by their number too. */
function beginning(bytes: number, length: number): number {
  return length << 24 | bytes;
}

/** Replaces secrets in one stream of bytes. What overlaps becomes one mask. */
export class Redactor {
  readonly #pattern: () => SecretPattern;
  /** The end of the stream so far, from where a secret may have begun. */
  #held: Uint8Array = NOTHING;
  /** How much of `#held` is done with: its mask has been shown, or it has been released. */
  #covered = 0;
  /** Whether `#held` has been released: should it become a secret, the mask of the rest follows. */
  #released = false;

  /** A redactor for one stream, which asks at each chunk what there is to hide. */
  constructor(pattern: () => SecretPattern) {
    this.#pattern = pattern;
  }

  /** What can be shown of the stream so far; keeps back what may be the beginning of a secret. */
  push(chunk: Uint8Array): Uint8Array {
    if (this.#held.length === 0 && this.#pattern().isEmpty) return chunk;
    return this.#next(concatBytes(this.#held, chunk), true);
  }

  /**
   * What was kept back, where it is too short to tell anything of a secret: for the end of a line
   * that waits, such as a prompt. Should it turn out to begin a secret, the rest is hidden.
   */
  release(): Uint8Array {
    if (!this.isWaiting) return NOTHING;
    this.#covered = this.#held.length;
    this.#released = true;
    return this.#held;
  }

  /** Whether there is something to {@linkcode release}. */
  get isWaiting(): boolean {
    return this.#held.length > 0 && this.#held.length < KEY_BYTES && this.#covered === 0;
  }

  /** What was kept back; the stream is over. */
  flush(): Uint8Array {
    return this.#held.length === 0 ? NOTHING : this.#next(this.#held, false);
  }

  /**
   * Shows `bytes`, but for what may go on when there is more; that is found again with what
   * follows.
   */
  #next(bytes: Uint8Array, more: boolean): Uint8Array {
    const { found, begun } = this.#pattern().search(bytes, more);
    const shown: Uint8Array[] = [];
    let hidden = this.#covered;
    let isMasked = !this.#released;
    for (const { from, to } of found) {
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
