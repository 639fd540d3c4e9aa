/**
 * Rows in the binary form of `COPY`: the number of values, then each with its length before it. A number
 * has eight bytes, the highest first; a text is UTF-8, without NUL. Pure.
 *
 * @module
 */

import type { ColumnType } from "../../sql/moving/moved_table.ts";
import type { Row, SqlValue } from "../../sql/row.ts";

/** What comes before the rows: a signature of 11 bytes, no flags, no extension. */
export const HEADER: Uint8Array = Uint8Array.from(
  "PGCOPY\n\xff\r\n\0".padEnd(19, "\0"),
  (sign) => sign.charCodeAt(0),
);

/** Whether these bytes are what comes after the last row, which the server needs not be told. */
export const isEnd = (row: Uint8Array): boolean =>
  row.length === 2 && row[0] === 0xff && row[1] === 0xff;

/** Bytes that are sent at once: what a socket takes without a wait, so that both ends work. */
const PAGE_BYTES = 64 * 1024;
/** Texts up to this length are written by a loop, which a call of the encoder would cost more than. */
const SHORT = 64;
const NUMBER_BYTES = 8;
const LENGTH_BYTES = 4;
const ENCODER = new TextEncoder();

/** Collects rows until they are enough to be sent. */
export class RowPage {
  readonly #columns: readonly (readonly [string, ColumnType])[];
  #bytes = new Uint8Array(2 * PAGE_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #at = 0;

  constructor(columns: Readonly<Record<string, ColumnType>>) {
    this.#columns = Object.entries(columns);
  }

  /**
   * Adds the columns of a row; gives its bytes, which are good until something is added or cleared.
   *
   * @throws {TypeError} when a value is not of the type of its column.
   */
  add(row: Row): Uint8Array {
    const from = this.#at;
    this.#reserve(2);
    this.#view.setInt16(from, this.#columns.length);
    this.#at += 2;
    for (const [name, type] of this.#columns) {
      const value = row[name] ?? null;
      if (value === null) this.#addNull();
      else if (!this.#add(type, value)) throw new TypeError(`Column ${name} is not ${type}`);
    }
    return this.#bytes.subarray(from, this.#at);
  }

  get isFull(): boolean {
    return this.#at >= PAGE_BYTES;
  }

  /** What is to be sent. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#at);
  }

  clear(): void {
    this.#at = 0;
    if (this.#bytes.length > 2 * PAGE_BYTES) this.#grow(2 * PAGE_BYTES); // long rows are few
  }

  #add(type: ColumnType, value: Exclude<SqlValue, null>): boolean {
    if (type === "text") return typeof value === "string" && this.#addText(value);
    if (type === "bytes") return value instanceof Uint8Array && this.#addBytes(value);
    if (typeof value !== "number") return false;
    this.#reserve(LENGTH_BYTES + NUMBER_BYTES);
    this.#view.setInt32(this.#at, NUMBER_BYTES);
    this.#at += LENGTH_BYTES + NUMBER_BYTES;
    const at = this.#at - NUMBER_BYTES;
    if (type === "real") {
      this.#view.setFloat64(at, value);
      return true;
    }
    this.#view.setInt32(at, Math.floor(value / 2 ** 32));
    this.#view.setUint32(at + 4, value >>> 0);
    return Number.isSafeInteger(value);
  }

  #addNull(): void {
    this.#reserve(LENGTH_BYTES);
    this.#view.setInt32(this.#at, -1);
    this.#at += LENGTH_BYTES;
  }

  #addBytes(bytes: Uint8Array): true {
    this.#reserve(LENGTH_BYTES + bytes.length);
    this.#view.setInt32(this.#at, bytes.length);
    this.#bytes.set(bytes, this.#at + LENGTH_BYTES);
    this.#at += LENGTH_BYTES + bytes.length;
    return true;
  }

  #addText(text: string): true {
    this.#reserve(LENGTH_BYTES + 3 * text.length);
    const at = this.#at + LENGTH_BYTES;
    const length = this.#copyShort(text, at) ??
      ENCODER.encodeInto(text, this.#bytes.subarray(at)).written;
    this.#view.setInt32(this.#at, length);
    this.#at = at + length;
    return true;
  }

  /** Writes a short text of ASCII; gives its length, and nothing for another one. */
  #copyShort(text: string, at: number): number | undefined {
    const { length } = text;
    if (length > SHORT) return undefined;
    const bytes = this.#bytes;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) return undefined;
      bytes[at + i] = code;
    }
    return length;
  }

  #reserve(length: number): void {
    const needed = this.#at + length;
    if (needed > this.#bytes.length) this.#grow(Math.max(needed, 2 * this.#bytes.length));
  }

  #grow(length: number): void {
    const bytes = new Uint8Array(length);
    bytes.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
}
