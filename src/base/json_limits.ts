/**
 * Limits for large JSON texts, checked in one pass over the characters before the text is parsed: no
 * other request is served while a text is parsed. A text that is not JSON is left to the parser.
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

/**
 * Checks a large text.
 *
 * @returns The numbers that a double cannot hold, which the parser needs.
 * @throws {AppError} `invalid` when the text exceeds a limit.
 */
export function checkJsonLimits(text: string): NumberPlace[] {
  const strings = new StringScan(text);
  const longNumbers: NumberPlace[] = [];
  let longNumberCharacters = 0;
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = strings.pass(at);
    } else if (code === COMMA) {
      if (++values > JSON_LIMITS.values) throw tooMuch("values", JSON_LIMITS.values);
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++values > JSON_LIMITS.values) throw tooMuch("values", JSON_LIMITS.values);
      if (++depth > JSON_LIMITS.depth) throw tooMuch("levels", JSON_LIMITS.depth);
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
      depth--;
    } else if (isDigit(code)) {
      const first = text.charCodeAt(at - 1) === MINUS ? at - 1 : at;
      at = lastOfNumber(text, at);
      if (!isLongNumber(text, first, at)) continue;
      longNumberCharacters += at - first + 1;
      if (longNumbers.push({ first, last: at }) > JSON_LIMITS.longNumbers) {
        throw tooMuch("numbers that a double cannot hold", JSON_LIMITS.longNumbers);
      }
      if (longNumberCharacters > JSON_LIMITS.longNumberCharacters) {
        const what = "characters in numbers that a double cannot hold";
        throw tooMuch(what, JSON_LIMITS.longNumberCharacters);
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

/** Reads the strings of a text, and counts those that V8 keeps in its table, each once. */
class StringScan {
  readonly #text: string;
  /** A bit for the hash of each string that was read. */
  readonly #seen = new Int32Array(SEEN_BITS / 32);
  /** Number of texts of digits, by the last 16 bits of their number. */
  readonly #alike = new Uint16Array(1 << 16);
  #names = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Reads a string from its opening quote; returns the index of the closing quote. */
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
    if (++this.#names > JSON_LIMITS.names) {
      throw tooMuch("different names and short texts", JSON_LIMITS.names);
    }
    if (number === undefined) return;
    const end = number & 0xffff;
    const alike = (this.#alike[end] ?? 0) + 1;
    this.#alike[end] = alike;
    if (alike > JSON_LIMITS.alikeDigits) {
      throw tooMuch("numbers in quotes that end alike", JSON_LIMITS.alikeDigits);
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
