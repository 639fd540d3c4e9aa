/**
 * CEL's string functions (its strings extension). They count characters, as CEL does, not
 * JavaScript's code units. Functions whose result is longer than their arguments share an allowance
 * for each evaluation: a deadline does not bound memory.
 *
 * @module
 */

import { type CelFunc, celFunc, celMethod, CelScalar, isCelError, listType } from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";

/** Most characters that one evaluation may create, more than the largest body has. */
const ALLOWANCE = 32 * 1024 * 1024;

/** Longest format text, which the library reads letter by letter. */
const MAX_FORMAT = 8192;

let left = ALLOWANCE;

/** Resets the allowance for an evaluation; evaluations are synchronous and never overlap. */
export function allowText(): void {
  left = ALLOWANCE;
}

function take(characters: number): void {
  left -= characters;
  if (left < 0) throw new Error(`it made more than ${ALLOWANCE} characters of text`);
}

const { STRING, INT, DYN } = CelScalar;
const LIST = listType(DYN);

/** Offset in code units of the character at `index`; `undefined` if the text is shorter. */
function findOffset(text: string, index: bigint): number | undefined {
  if (index < 0n) return undefined;
  let offset = 0;
  for (let ahead = Number(index); ahead > 0; ahead--) {
    if (offset === text.length) return undefined;
    offset += widthAt(text, offset);
  }
  return offset;
}

function widthAt(text: string, offset: number): number {
  return (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1;
}

function offsetOf(text: string, index: bigint): number {
  const offset = findOffset(text, index);
  if (offset === undefined) throw new Error(`index out of range: ${index}`);
  return offset;
}

/** Like `offsetOf`, but throws at the end of the text, which is no character. */
function characterOf(text: string, index: bigint): number {
  const offset = offsetOf(text, index);
  if (offset === text.length) throw new Error(`index out of range: ${index}`);
  return offset;
}

/** Number of characters before an offset in code units; -1 for -1, which means "not found". */
function indexAt(text: string, offset: number): bigint {
  if (offset < 0) return -1n;
  let index = 0;
  for (let at = 0; at < offset; at += widthAt(text, at)) index++;
  return BigInt(index);
}

function charAt(this: string, index: bigint): string {
  const offset = offsetOf(this, index);
  return this.slice(offset, offset + widthAt(this, offset));
}

function indexOf(this: string, sought: string, from?: bigint): bigint {
  const start = from === undefined ? 0 : characterOf(this, from);
  return indexAt(this, this.indexOf(sought, start));
}

function lastIndexOf(this: string, sought: string, from?: bigint): bigint {
  const start = from === undefined ? this.length : characterOf(this, from);
  return indexAt(this, this.lastIndexOf(sought, start));
}

function substring(this: string, start: bigint, end?: bigint): string {
  const from = offsetOf(this, start);
  const to = end === undefined ? this.length : offsetOf(this, end);
  if (from > to) throw new Error(`the start ${start} is after the end ${end}`);
  return this.slice(from, to);
}

/**
 * The first `limit` parts of a text, the last of them with the rest; all parts when `limit` is
 * negative.
 */
function split(this: string, separator: string, limit = -1n): string[] {
  const parts = separator === "" ? Array.from(this) : this.split(separator);
  take(this.length + parts.length);
  if (limit < 0n || limit >= BigInt(parts.length)) return parts;
  if (limit === 0n) return [];
  const whole = parts.slice(0, Number(limit) - 1);
  return [...whole, parts.slice(whole.length).join(separator)];
}

/**
 * Replaces the first `limit` occurrences; all when `limit` is negative. The empty text occurs
 * before each character.
 */
function replace(this: string, sought: string, by: string, limit = -1n): string {
  const parts = sought === "" ? ["", ...this, ""] : this.split(sought);
  const count = limit < 0n ? parts.length - 1 : Math.min(Number(limit), parts.length - 1);
  take(this.length + parts.length + count * by.length);
  return parts.slice(0, count + 1).join(by) +
    parts.slice(count + 1).map((part) => sought + part).join("");
}

function join(this: Iterable<unknown> & { size: number }, separator = ""): string {
  const texts: string[] = [];
  let length = separator.length * this.size;
  for (const text of this) {
    if (typeof text !== "string") {
      throw new Error("join: the list holds something that is not a string");
    }
    length += text.length;
    texts.push(text);
  }
  take(length);
  return texts.join(separator);
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\x0d": "\\r",
  '"': '\\"',
  "\\": "\\\\",
};

function quote(text: string): string {
  take(2 * text.length);
  const escaped = text.toWellFormed().replace(/["\\\p{Cc}]/gu, (one) => ESCAPES[one] ?? one);
  return `"${escaped}"`;
}

/** The library's own function of that name. */
function libraryOwn(name: string): CelFunc {
  const own = strings.find((one) => one.name === name);
  if (own === undefined) throw new Error(`The library has no function ${name}`);
  return own;
}

const libraryFormat = libraryOwn("format");

export const STRING_FUNCTIONS: CelFunc[] = [
  libraryOwn("trim"),
  celMethod("charAt", STRING, [INT], STRING, charAt),
  celMethod("indexOf", STRING, [STRING], INT, indexOf),
  celMethod("indexOf", STRING, [STRING, INT], INT, indexOf),
  celMethod("lastIndexOf", STRING, [STRING], INT, lastIndexOf),
  celMethod("lastIndexOf", STRING, [STRING, INT], INT, lastIndexOf),
  celMethod("lowerAscii", STRING, [], STRING, function () {
    return this.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  }),
  celMethod("upperAscii", STRING, [], STRING, function () {
    return this.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
  }),
  celMethod("reverse", STRING, [], STRING, function () {
    return Array.from(this).reverse().join("");
  }),
  celMethod("substring", STRING, [INT], STRING, substring),
  celMethod("substring", STRING, [INT, INT], STRING, substring),
  celMethod("split", STRING, [STRING], LIST, split),
  celMethod("split", STRING, [STRING, INT], LIST, split),
  celMethod("replace", STRING, [STRING, STRING], STRING, replace),
  celMethod("replace", STRING, [STRING, STRING, INT], STRING, replace),
  celMethod("join", LIST, [], STRING, join),
  celMethod("join", LIST, [STRING], STRING, join),
  celMethod("format", STRING, [LIST], STRING, function (values) {
    if (this.length > MAX_FORMAT) throw new Error(`format: longer than ${MAX_FORMAT} characters`);
    const text = libraryFormat.call(0, this, [values]);
    if (isCelError(text)) throw text;
    if (typeof text !== "string") throw new Error("format: the result is not a string");
    take(text.length);
    return text;
  }),
  celFunc("strings.quote", [STRING], STRING, quote),
];
