/**
 * The standard output of a step as one of its outputs (`stdout: KEY`), which later steps read. The
 * log of the task has it, too.
 *
 * @module
 */

/** Most bytes of the output, about as many as an environment variable can hold. */
const MAX_BYTES = 128 * 1024;

/** Collects the standard output of one attempt. */
export class CapturedOutput {
  readonly #key: string | undefined;
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  /** Collects the output `key`; without a key, nothing. */
  constructor(key: string | undefined) {
    this.#key = key;
  }

  /** Adds a copy of `chunk`. */
  add(chunk: Uint8Array): void {
    if (this.#key === undefined) return;
    this.#length += chunk.length;
    if (this.#length <= MAX_BYTES) this.#chunks.push(chunk.slice());
    else this.#chunks.length = 0;
  }

  /** The output without the line ends at its end, like `$(...)` in a shell. */
  get outputs(): Readonly<Record<string, string>> {
    if (this.#key === undefined || this.#length > MAX_BYTES) return {};
    const bytes = new Uint8Array(this.#length);
    let at = 0;
    for (const chunk of this.#chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    const text = new TextDecoder().decode(bytes);
    return { [this.#key]: text.replace(/(?:\r?\n)+$/, "") };
  }

  /** The failure of a step that printed more: a part of the output would be worse than none. */
  get excess(): { readonly state: "failed"; readonly reason: string } | undefined {
    if (this.#key === undefined || this.#length <= MAX_BYTES) return undefined;
    return {
      state: "failed",
      reason: `it printed ${this.#length} bytes, and "stdout: ${this.#key}" holds at most ` +
        `${MAX_BYTES}: let it write to a file instead`,
    };
  }
}
