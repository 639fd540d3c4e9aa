/**
 * Divides what an agent prints into lines. A line that is too long is dropped while it comes, so that
 * no agent fills the memory.
 *
 * @module
 */

/** Longest line that is read, in bytes. */
export const MAX_LINE_BYTES = 1024 * 1024;

const FIRST_BYTES = 4096;
const LINE_BREAK = 10;
const NOTHING = new Uint8Array();

/** A whole line without its line break; bytes that are no UTF-8 are U+FFFD. */
export type Line = { readonly text: string } | {
  /** Bytes of a line that is too long. */
  readonly tooLong: number;
};

/** Divides one stream, whose chunks may end anywhere. */
export class LineSplitter {
  /** The beginning of a line whose end has not come. */
  #begun = NOTHING;
  #length = 0;

  /** The lines that end in this chunk, of which nothing is kept. */
  push(chunk: Uint8Array): Line[] {
    const lines: Line[] = [];
    for (let at = 0; at < chunk.length;) {
      const end = chunk.indexOf(LINE_BREAK, at);
      this.#add(chunk.subarray(at, end === -1 ? chunk.length : end));
      if (end === -1) break;
      lines.push(this.#take());
      at = end + 1;
    }
    return lines;
  }

  /** The last line, if it has no line break. */
  flush(): Line[] {
    return this.#length === 0 ? [] : [this.#take()];
  }

  #add(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > MAX_LINE_BYTES) {
      this.#begun = NOTHING;
    } else if (bytes.length > 0) {
      if (length > this.#begun.length) {
        const larger = new Uint8Array(Math.max(FIRST_BYTES, 2 * length));
        larger.set(this.#begun.subarray(0, this.#length));
        this.#begun = larger;
      }
      this.#begun.set(bytes, this.#length);
    }
    this.#length = length;
  }

  #take(): Line {
    const length = this.#length;
    const bytes = this.#begun.subarray(0, length);
    this.#length = 0;
    if (length > MAX_LINE_BYTES) return { tooLong: length };
    const text = new TextDecoder().decode(bytes).replace(/\r$/, "");
    this.#begun = NOTHING; // a long line is seldom followed by another
    return { text };
  }
}
