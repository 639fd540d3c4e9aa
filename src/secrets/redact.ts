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

import { concatBytes, latin1Bytes, utf8 } from "../base/bytes.ts";
import { MASK } from "../resources/secret_store.ts";

const MASK_BYTES = utf8(MASK);
const NOTHING = new Uint8Array();

/** Bytes of a form by which it is found; every form is longer. */
const KEY_BYTES = 4;
/** Bits of the place of a key in the filter. */
const FILTER_BITS = 16;

/** A place in some bytes: where it begins, and where it ends. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** Forms of secrets, arranged so that a search costs the same for one of them and for thousands. */
export class SecretPattern {
  /** Forms by their first four bytes, the longest first. */
  readonly #byKey = new Map<number, Uint8Array[]>();
  /** What forms begin with, up to three bytes. */
  readonly #beginnings = new Set<number>();
  /** Whether some form may begin with a key: nearly every byte of ordinary text ends here. */
  readonly #filter = new Uint8Array(1 << FILTER_BITS);

  /** A pattern of these forms, which are texts of code units 0 to 255. */
  constructor(forms: Iterable<string>) {
    const longestFirst = [...new Set(forms)].sort((a, b) => b.length - a.length);
    for (const form of longestFirst.map(latin1Bytes)) {
      let start = 0;
      for (const [at, byte] of form.subarray(0, KEY_BYTES).entries()) {
        start = start << 8 | byte;
        if (at + 1 < KEY_BYTES) this.#beginnings.add(beginning(start, at + 1));
      }
      this.#filter[placeOf(start)] = 1;
      const same = this.#byKey.get(start);
      if (same === undefined) this.#byKey.set(start, [form]);
      else same.push(form);
    }
  }

  /** Whether there is nothing to hide. */
  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  /**
   * Every place of `bytes` where a form stands, in order, the longest where several begin; and
   * where the end of `bytes` starts that may be the beginning of one, unless nothing follows.
   */
  search(bytes: Uint8Array, more: boolean): { found: readonly Span[]; begun: number } {
    const found: Span[] = [];
    let key = 0;
    for (let next = 0; next < bytes.length; next++) {
      key = key << 8 | (bytes[next] ?? 0);
      if (this.#filter[placeOf(key)] === 0 || next < KEY_BYTES - 1) continue;
      const from = next - KEY_BYTES + 1;
      const room = bytes.length - from;
      const form = this.#byKey.get(key)?.find((one) =>
        (more || one.length <= room) && standsAt(bytes, from, one)
      );
      if (form === undefined) continue;
      if (form.length > room) return { found, begun: from };
      found.push({ from, to: from + form.length });
    }
    return { found, begun: more ? this.#firstBeginning(bytes) : bytes.length };
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

function placeOf(key: number): number {
  return Math.imul(key, 0x9e3779b1) >>> (32 - FILTER_BITS);
}

/** Up to three bytes, told apart by their number too. */
function beginning(bytes: number, length: number): number {
  return length << 24 | bytes;
}

/** Whether `form`, or as much of it as there is room for, stands at `from`. */
function standsAt(bytes: Uint8Array, from: number, form: Uint8Array): boolean {
  const length = Math.min(form.length, bytes.length - from);
  for (let i = KEY_BYTES; i < length; i++) if (form[i] !== bytes[from + i]) return false;
  return true;
}

/** Replaces secrets in one stream of bytes. What overlaps becomes one mask. */
export class Redactor {
  readonly #pattern: () => SecretPattern;
  /** The end of the stream so far, from where a secret may have begun. */
  #held: Uint8Array = NOTHING;
  /** How much of `#held` belongs to secrets whose mask has been shown. */
  #covered = 0;

  /** A redactor for one stream, which asks at each chunk what there is to hide. */
  constructor(pattern: () => SecretPattern) {
    this.#pattern = pattern;
  }

  /** What can be shown of the stream so far; keeps back what may be the beginning of a secret. */
  push(chunk: Uint8Array): Uint8Array {
    if (this.#held.length === 0 && this.#pattern().isEmpty) return chunk;
    return this.#next(concatBytes(this.#held, chunk), true);
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
    for (const { from, to } of found) {
      if (from >= hidden) shown.push(bytes.subarray(hidden, from), MASK_BYTES);
      hidden = Math.max(hidden, to);
    }
    if (hidden < begun) shown.push(bytes.subarray(hidden, begun));
    this.#held = bytes.slice(begun);
    this.#covered = Math.max(0, hidden - begun);
    return concatBytes(...shown);
  }
}
