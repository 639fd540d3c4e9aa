/**
 * Hides secret values in a stream of output (security 7): every value of six bytes or more, its
 * base64 and percent forms, longest first, also where a value is cut by a chunk border.
 *
 * ```ts
 * import { Redactor } from "./redact.ts";
 * import { equal } from "node:assert/strict";
 *
 * const redactor = new Redactor(["s3cr3t!"]);
 * const bytes = (text: string) => new TextEncoder().encode(text);
 * const out = [redactor.push(bytes("key s3c")), redactor.push(bytes("r3t! end")), redactor.flush()];
 * equal(out.map((part) => new TextDecoder().decode(part)).join(""), "key *** end");
 * ```
 *
 * @module
 */

import { latin1Bytes, latin1Text, toBase64, utf8 } from "../base/bytes.ts";
import { MASK } from "../resources/secret_store.ts";

/** Shorter values are words of any text; hiding them would make output unreadable. */
const MIN_BYTES = 6;

/** Replaces secrets in one stream of bytes. */
export class Redactor {
  readonly #pattern: RegExp | undefined;
  readonly #secrets: readonly string[];
  #held = "";

  /** A redactor that hides `values`; one of it serves one stream. */
  constructor(values: readonly string[]) {
    this.#secrets = formsOf(values);
    this.#pattern = this.#secrets.length === 0
      ? undefined
      : new RegExp(this.#secrets.map((form) => RegExp.escape(form)).join("|"), "g");
  }

  /** What can be shown of the stream so far; keeps back what may be the beginning of a secret. */
  push(chunk: Uint8Array): Uint8Array {
    if (this.#pattern === undefined) return chunk;
    const text = (this.#held + latin1Text(chunk)).replace(this.#pattern, MASK);
    const keep = this.#beginning(text);
    this.#held = text.slice(text.length - keep);
    return latin1Bytes(text.slice(0, text.length - keep));
  }

  /** What was kept back; the stream is over. */
  flush(): Uint8Array {
    const rest = this.#held;
    this.#held = "";
    return latin1Bytes(rest);
  }

  /** Length of the longest end of `text` that is the beginning of a secret. */
  #beginning(text: string): number {
    let longest = 0;
    for (const secret of this.#secrets) {
      for (let n = Math.min(secret.length - 1, text.length); n > longest; n--) {
        if (text.endsWith(secret.slice(0, n))) longest = n;
      }
    }
    return longest;
  }
}

function formsOf(values: readonly string[]): string[] {
  const forms = new Set<string>();
  for (const value of values) {
    for (const form of [value, value.trim()]) {
      const bytes = utf8(form);
      if (bytes.length < MIN_BYTES) continue;
      forms.add(latin1Text(bytes));
      forms.add(toBase64(bytes));
      forms.add(toBase64(bytes).replaceAll("=", ""));
      forms.add(encodeURIComponent(form));
    }
  }
  return [...forms].sort((a, b) => b.length - a.length);
}
