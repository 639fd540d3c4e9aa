/**
 * Limits for large JSON texts, checked in one pass before the text is parsed: no other request is
 * served while a text is parsed. A text that is not JSON is left to the parser.
 *
 * The pass jumps over strings, which are most of a text, and only counts them. Where they might
 * exceed a limit, it begins again and reads each of them, which takes four times as long.
 *
 * @module
 */

import { AppError } from "./errors.ts";
import {
  BACKSLASH,
  isDigit,
  isLongNumber,
  lastOfNumber,
  type NumberPlace,
  QUOTE,
} from "./long_numbers.ts";

/** Texts up to this length are not checked, because parsing them cannot take long. */
const LARGE_TEXT = 64 * 1024;

/** Far above the largest bodies of platforms; a text within them is parsed in less than a second. */
export const JSON_LIMITS = {
  /** Levels of lists and objects in each other. */
  depth: 1000,
  /** Values, counted by commas and opening brackets. */
  values: 2_000_000,
  /**
   * Distinct member names, and distinct strings of up to ten characters: V8 keeps both in a table.
   */
  names: 250_000,
  /** Numbers that keep their digits. */
  longNumbers: 100_000,
  /** Characters of all these numbers together, because each is read several times. */
  longNumberCharacters: 4_000_000,
  /**
   * Distinct strings of digits whose numbers have the same low 16 bits. V8 hashes such a string by
   * its number; 100,000 in one bucket take ten seconds.
   */
  alikeDigits: 100,
} as const;

/** Whether a text has to be checked before it is parsed. */
export function isLargeJson(text: string): boolean {
  return text.length > LARGE_TEXT;
}

type JsonLimits = { readonly [Limit in keyof typeof JSON_LIMITS]: number };

/**
 * Checks a large text.
 *
 * @returns The numbers that a double cannot hold, which the parser needs.
 * @throws {AppError} `invalid` when the text exceeds a limit.
 */
export function checkJsonLimits(text: string, limits: JsonLimits = JSON_LIMITS): NumberPlace[] {
  return scan(text, new StringCount(text, limits), limits) ?? checkEachString(text, limits);
}

/** The same, but reads each string. */
export function checkEachString(text: string, limits: JsonLimits = JSON_LIMITS): NumberPlace[] {
  return scan(text, new StringScan(text, limits), limits) ?? [];
}

/** Passes the strings of a text. */
interface Strings {
  /**
   * Passes the string with this opening quote; returns the index of its closing quote, or
   * `undefined` if its strings might exceed a limit.
   */
  pass(quote: number): number | undefined;
}

/** The long numbers of a text; `undefined` if its strings might exceed a limit. */
function scan(text: string, strings: Strings, limits: JsonLimits): NumberPlace[] | undefined {
  const longNumbers: NumberPlace[] = [];
  let longNumberCharacters = 0;
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const last = strings.pass(at);
      if (last === undefined) return undefined;
      at = last;
    } else if (code === COMMA) {
      if (++values > limits.values) throw tooMuch("values", limits.values);
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++values > limits.values) throw tooMuch("values", limits.values);
      if (++depth > limits.depth) throw tooMuch("levels", limits.depth);
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
      depth--;
    } else if (isDigit(code)) {
      const first = text.charCodeAt(at - 1) === MINUS ? at - 1 : at;
      at = lastOfNumber(text, at);
      if (!isLongNumber(text, first, at)) continue;
      longNumberCharacters += at - first + 1;
      if (longNumbers.push({ first, last: at }) > limits.longNumbers) {
        throw tooMuch("numbers that a double cannot hold", limits.longNumbers);
      }
      if (longNumberCharacters > limits.longNumberCharacters) {
        const what = "characters in numbers that a double cannot hold";
        throw tooMuch(what, limits.longNumberCharacters);
      }
    }
  }
  return longNumbers;
}

const COMMA = 0x2c;
const MINUS = 0x2d;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Random, so that a sender cannot choose texts that collide. */
const SEED = crypto.getRandomValues(new Int32Array(1))[0] ?? 0;
/** Longest text that V8 keeps in its table, and longest text of digits that it hashes by its number. */
const SHORT = 10;
const SEEN_BITS = 1 << 21;

/** Finds the ends of strings, and counts at least as many as {@linkcode StringScan} does. */
class StringCount implements Strings {
  readonly #text: string;
  readonly #limits: JsonLimits;
  #strings = 0;
  /** Number of texts of digits, each as often as it comes, by the last bits of their number. */
  #alike: Uint16Array | undefined;

  constructor(text: string, limits: JsonLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  pass(quote: number): number | undefined {
    if (++this.#strings > this.#limits.names) return undefined;
    const first = this.#text.charCodeAt(quote + 1);
    if (isDigit(first) || first === BACKSLASH) {
      if (this.#mayBeAlike(quote + 1)) return undefined;
    }
    return endOfString(this.#text, quote);
  }

  /** Whether too many texts of digits may be alike, with the one that begins at `first`. */
  #mayBeAlike(first: number): boolean {
    const text = this.#text;
    let number = 0;
    let at = first;
    for (let code; isDigit(code = text.charCodeAt(at)); at++) {
      if (at - first === SHORT) return false;
      number = number * 10 + code - 0x30;
    }
    if (text.charCodeAt(at) === BACKSLASH) return escapedDigit(text, at) !== undefined;
    if (text.charCodeAt(at) !== QUOTE) return false;
    this.#alike ??= new Uint16Array(1 << FEW_BITS);
    const end = number & (1 << FEW_BITS) - 1;
    const alike = (this.#alike[end] ?? 0) + 1;
    this.#alike[end] = alike;
    return alike > this.#limits.alikeDigits;
  }
}

/** Fewer than the 16 that count, so that the table is small. */
const FEW_BITS = 10;

/** Index of the quote that ends the string with this opening quote; the length if none does. */
function endOfString(text: string, quote: number): number {
  for (let at = quote + 1;; at++) {
    at = text.indexOf('"', at); // searched natively
    if (at === -1) return text.length;
    let before = at - 1;
    while (text.charCodeAt(before) === BACKSLASH) before--;
    if ((at - before) % 2 === 1) return at;
  }
}

/** Reads the strings of a text, and counts those that V8 keeps in its table, each once. */
class StringScan implements Strings {
  readonly #text: string;
  readonly #limits: JsonLimits;
  /** A bit for the hash of each string that was read. */
  readonly #seen = new Int32Array(SEEN_BITS / 32);
  /** Number of texts of digits, by the last 16 bits of their number. */
  readonly #alike = new Uint16Array(1 << 16);
  #names = 0;

  constructor(text: string, limits: JsonLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  pass(quote: number): number {
    const text = this.#text;
    let hash = SEED;
    let digits = 0;
    let number = 0;
    let length = 0;
    let at = quote + 1;
    for (; at < text.length; at++, length++) {
      let code = text.charCodeAt(at);
      if (code === QUOTE) break;
      if (code === BACKSLASH) {
        code = escapedDigit(text, at) ?? 0;
        at += code === 0 ? 1 : 5;
      }
      hash = Math.imul(hash ^ code, 0x5bd1e995) + SEED | 0;
      hash ^= hash >>> 15;
      if (isDigit(code) && digits >= 0 && digits < SHORT) {
        digits++;
        number = number * 10 + code - 0x30;
      } else {
        digits = -1;
      }
    }
    const isKept = length <= SHORT || this.#isName(at);
    if (isKept && this.#isNew(hash)) this.#add(digits > 0 ? number : undefined);
    return at;
  }

  #isName(last: number): boolean {
    let at = last + 1;
    while (isBlank(this.#text.charCodeAt(at))) at++;
    return this.#text.charCodeAt(at) === COLON;
  }

  #add(number: number | undefined): void {
    if (++this.#names > this.#limits.names) {
      throw tooMuch("different names and short texts", this.#limits.names);
    }
    if (number === undefined) return;
    const end = number & 0xffff;
    const alike = (this.#alike[end] ?? 0) + 1;
    this.#alike[end] = alike;
    if (alike > this.#limits.alikeDigits) {
      throw tooMuch("numbers in quotes that end alike", this.#limits.alikeDigits);
    }
  }

  #isNew(hash: number): boolean {
    const bit = hash & (SEEN_BITS - 1);
    const word = this.#seen[bit >>> 5] ?? 0;
    const mask = 1 << (bit & 31);
    this.#seen[bit >>> 5] = word | mask;
    return (word & mask) === 0;
  }
}

/** The character code of the digit that an escape such as `\u0037` means. */
function escapedDigit(text: string, backslash: number): number | undefined {
  if (!text.startsWith("u003", backslash + 1)) return undefined;
  const code = text.charCodeAt(backslash + 5);
  return isDigit(code) ? code : undefined;
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function tooMuch(what: string, most: number): AppError {
  return new AppError("invalid", `The JSON has more than ${most} ${what}`);
}
