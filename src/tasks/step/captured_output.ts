/**
 * The standard output of a step as one of its outputs (`stdout: KEY`), for later steps to read. It
 * is in the log all the same.
 *
 * @module
 */

/** Most bytes of it; an environment variable holds about as many. */
const MAX_BYTES = 128 * 1024;

/** Collects the standard output of one attempt. */
export class CapturedOutput {
  readonly #key: string | undefined;
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  /** Collects it for the output `key`, or nothing without one. */
  constructor(key: string | undefined) {
    this.#key = key;
  }

  /** Adds a part, whose memory may be used again afterwards. */
  add(chunk: Uint8Array): void {
    if (this.#key === undefined) return;
    this.#length += chunk.length;
    if (this.#length <= MAX_BYTES) this.#chunks.push(chunk.slice());
    else this.#chunks.length = 0;
  }

  /** The output, without the line ends behind it, like `$(...)` in a shell. */
  get outputs(): Readonly<Record<string, string>> {
    if (this.#key === undefined || this.#length > MAX_BYTES) return {};
    const bytes = new Uint8Array(this.#length);
    let at = 0;
    for (const chunk of this.#chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return { [this.#key]: new TextDecoder().decode(bytes).replace(/(?:\r?\n)+$/, "") };
  }

  /** How a step fails that printed too much: half an answer is none. */
  get excess(): { readonly state: "failed"; readonly reason: string } | undefined {
    if (this.#key === undefined || this.#length <= MAX_BYTES) return undefined;
    return {
      state: "failed",
      reason: `it printed ${this.#length} bytes, and "stdout: ${this.#key}" holds at most ` +
        `${MAX_BYTES}: let it write to a file instead`,
    };
  }
}
