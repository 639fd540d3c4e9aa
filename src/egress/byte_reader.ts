/**
 * Reads heads, lines and bodies from a connection, with one buffer whose size is bounded.
 *
 * @module
 */

import { latin1Text } from "../base/bytes.ts";
import { HeadFault, MAX_HEAD_BYTES } from "./head.ts";

/** Sizes of the buffer: before it has to be larger, and at most. */
const [FIRST_BYTES, MOST_BYTES] = [8 * 1024, MAX_HEAD_BYTES];
/** Longest line of a chunked body. */
const MAX_LINE_BYTES = 4096;

const [CR, LF] = [0x0d, 0x0a];

/** Where bytes come from. */
export interface Source {
  read(into: Uint8Array): Promise<number | null>;
}

/** The bytes of one direction of a connection. */
export class ByteReader {
  readonly #source: Source;
  #buffer = new Uint8Array(0);
  #start = 0;
  #end = 0;
  #isOver = false;
  /** Whether the last read filled the buffer. */
  #wasFilled = false;
  #filling: Promise<boolean> | undefined;

  constructor(source: Source) {
    this.#source = source;
  }

  /** Whether bytes have been read that nobody has taken. */
  get hasBytes(): boolean {
    return this.#end > this.#start;
  }

  /** Resolves when there are bytes that nobody has taken: to `false` when the other side has ended. */
  async ready(): Promise<boolean> {
    return this.hasBytes || await this.#fill();
  }

  /**
   * The bytes of a head with its empty line; `undefined` when the other side ended before it. They are
   * valid until the next call.
   *
   * @throws {HeadFault} when a line ends otherwise than in CR LF, or the head is too long or cut.
   */
  async head(): Promise<Uint8Array | undefined> {
    // From `#start`: how far the lines have been looked at, and where the present line starts.
    let seen = 0;
    let line = 0;
    for (;;) {
      const at = this.#buffer.indexOf(LF, this.#start + seen);
      if (at !== -1 && at < this.#end) {
        if (at === this.#start || this.#buffer[at - 1] !== CR) {
          throw new HeadFault("a line does not end in CR LF");
        }
        const offset = at - this.#start;
        if (offset - line === 1) {
          if (line === 0) throw new HeadFault("it starts with an empty line");
          const head = this.#buffer.subarray(this.#start, at + 1);
          this.#start = at + 1;
          return head;
        }
        seen = line = offset + 1;
        continue;
      }
      seen = this.#end - this.#start;
      if (seen >= MAX_HEAD_BYTES) throw new HeadFault("its headers are too long");
      if (await this.#fill()) continue;
      if (seen === 0) return undefined;
      throw new HeadFault("it ends within its headers");
    }
  }

  /**
   * A line without its CR LF.
   *
   * @throws {HeadFault} when it ends otherwise, or is too long or cut.
   */
  async line(): Promise<string> {
    for (let seen = 0;;) {
      const at = this.#buffer.indexOf(LF, this.#start + seen);
      if (at !== -1 && at < this.#end) {
        if (at === this.#start || this.#buffer[at - 1] !== CR) {
          throw new HeadFault("a line does not end in CR LF");
        }
        const text = latin1Text(this.#buffer.subarray(this.#start, at - 1));
        this.#start = at + 1;
        return text;
      }
      seen = this.#end - this.#start;
      if (seen > MAX_LINE_BYTES) throw new HeadFault("a line of its body is too long");
      if (!await this.#fill()) throw new HeadFault("its body is cut");
    }
  }

  /** The next bytes, at most `most`, valid until the next call; `null` when the other side has ended. */
  async some(most: number): Promise<Uint8Array | null> {
    if (!this.hasBytes && !await this.#fill()) return null;
    const bytes = this.#buffer.subarray(this.#start, Math.min(this.#end, this.#start + most));
    this.#start += bytes.length;
    return bytes;
  }

  /** Reads more into the buffer; `false` when the other side has ended. A read under way is shared. */
  #fill(): Promise<boolean> {
    return this.#filling ??= this.#read().finally(() => this.#filling = undefined);
  }

  async #read(): Promise<boolean> {
    if (this.#isOver) return false;
    this.#makeRoom();
    const room = this.#buffer.subarray(this.#end);
    const read = await this.#source.read(room);
    this.#wasFilled = read === room.length;
    if (read === null) this.#isOver = true;
    else this.#end += read;
    return read !== null;
  }

  /**
   * Makes room behind the bytes that nobody has taken. The buffer grows when they fill it, and when the
   * last read filled it: much is coming then.
   */
  #makeRoom(): void {
    const left = this.#end - this.#start;
    const { length } = this.#buffer;
    if (length === 0) this.#buffer = new Uint8Array(FIRST_BYTES);
    else if (length < MOST_BYTES && (left === length || this.#wasFilled)) {
      const larger = new Uint8Array(MOST_BYTES);
      larger.set(this.#buffer.subarray(this.#start, this.#end));
      this.#buffer = larger;
    } else if (this.#start > 0) this.#buffer.copyWithin(0, this.#start, this.#end);
    [this.#start, this.#end] = [0, left];
  }
}
