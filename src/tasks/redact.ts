/**
 * Hides secret values in a stream of output (security 7): every value of six bytes or more, its
 * base64 and percent forms, whatever overlaps and wherever a chunk border cuts it.
 *
 * ```ts
 * import { Redactor, redactText } from "./redact.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const redactor = new Redactor(["s3cr3t!"]);
 * const bytes = (text: string) => new TextEncoder().encode(text);
 * const out = [redactor.push(bytes("key s3c")), redactor.push(bytes("r3t! end")), redactor.flush()];
 * equal(out.map((part) => new TextDecoder().decode(part)).join(""), "key *** end");
 * equal(redactText("key=s3cr3t!", ["s3cr3t!"]), "key=***");
 * ```
 *
 * @module
 */

import { concatBytes, latin1Bytes, latin1Text, utf8 } from "../base/bytes.ts";
import { MASK } from "../resources/secret_store.ts";
import { secretForms } from "./secret_forms.ts";

/** Replaces secrets in one stream of bytes. What overlaps becomes one mask. */
export class Redactor {
  readonly #pattern: RegExp | undefined;
  readonly #forms: readonly string[];
  /** The end of the stream so far, from where a secret may have begun. */
  #held = "";
  /** How much of `#held` belongs to secrets whose mask has been shown. */
  #covered = 0;

  /** A redactor that hides `values`; one of it serves one stream. */
  constructor(values: readonly string[]) {
    this.#forms = secretForms(values);
    this.#pattern = this.#forms.length === 0
      ? undefined
      : new RegExp(this.#forms.map((form) => RegExp.escape(form)).join("|"), "g");
  }

  /** What can be shown of the stream so far; keeps back what may be the beginning of a secret. */
  push(chunk: Uint8Array): Uint8Array {
    if (this.#pattern === undefined) return chunk;
    const text = this.#held + latin1Text(chunk);
    return this.#show(this.#pattern, text, this.#firstBeginning(text));
  }

  /** What was kept back; the stream is over. */
  flush(): Uint8Array {
    if (this.#pattern === undefined) return new Uint8Array();
    return this.#show(this.#pattern, this.#held, this.#held.length);
  }

  /** Shows `text` up to `end`; secrets that begin behind it are found again with what follows. */
  #show(pattern: RegExp, text: string, end: number): Uint8Array {
    let shown = "";
    let hidden = this.#covered;
    pattern.lastIndex = 0;
    for (let m = pattern.exec(text); m !== null && m.index < end; m = pattern.exec(text)) {
      if (m.index >= hidden) shown += text.slice(hidden, m.index) + MASK;
      hidden = Math.max(hidden, m.index + m[0].length);
      pattern.lastIndex = m.index + 1; // another may begin inside this one
    }
    shown += text.slice(hidden, end);
    this.#held = text.slice(end);
    this.#covered = Math.max(0, hidden - end);
    return latin1Bytes(shown);
  }

  /** Where the longest end of `text` starts that is the beginning of a secret. */
  #firstBeginning(text: string): number {
    let first = text.length;
    for (const form of this.#forms) {
      const [letter = ""] = form;
      let at = text.indexOf(letter, Math.max(0, text.length - form.length + 1));
      while (at !== -1 && at < first && !form.startsWith(text.slice(at))) {
        at = text.indexOf(letter, at + 1);
      }
      if (at !== -1 && at < first) first = at;
    }
    return first;
  }
}

/** `text` with every one of `values` hidden. */
export function redactText(text: string, values: readonly string[]): string {
  const redactor = new Redactor(values);
  const shown = concatBytes(redactor.push(utf8(text)), redactor.flush());
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(shown);
}
