/**
 * Finds the numbers of a JSON text that a double cannot hold, in one pass over the characters. A payload
 * can have megabytes, for which a reviver, which V8 calls for every value, takes seconds.
 *
 * @module
 */

/** The character `"`. */
export const QUOTE = 0x22;
/** The character `\`. */
export const BACKSLASH = 0x5c;

/** The range of a number in its text. */
export interface NumberPlace {
  /** Index of its first character. */
  readonly first: number;
  /** Index of its last character. */
  readonly last: number;
}

/** The long numbers of a JSON text, in their order. */
export function findLongNumbers(text: string): NumberPlace[] {
  const places: NumberPlace[] = [];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = lastOfString(text, at);
    } else if (isDigit(code)) {
      const first = text[at - 1] === "-" ? at - 1 : at;
      at = lastOfNumber(text, at);
      if (isLongNumber(text, first, at)) places.push({ first, last: at });
    }
  }
  return places;
}

/** `text` with the numbers at `places` as strings that begin with `mark`. */
export function markNumbers(text: string, places: readonly NumberPlace[], mark: string): string {
  let marked = "";
  let done = 0;
  for (const { first, last } of places) {
    marked += `${text.slice(done, first)}"${mark}${text.slice(first, last + 1)}"`;
    done = last + 1;
  }
  return marked + text.slice(done);
}

function lastOfString(text: string, quote: number): number {
  let at = quote + 1;
  for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at)) {
    at += code === BACKSLASH ? 2 : 1;
  }
  return at;
}

/** Index of the last character of the number whose first digit is at `first`. */
export function lastOfNumber(text: string, first: number): number {
  let at = first;
  while (isOfNumber(text.charCodeAt(at + 1))) at++;
  return at;
}

/** Whether a character is a digit or one of `+`, `-`, `.`, `E`, `e`. */
function isOfNumber(code: number): boolean {
  return isDigit(code) || code === 0x2b || code === 0x2d || code === 0x2e || code === 0x45 ||
    code === 0x65;
}

/** Whether a character is one of `0` to `9`. */
export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Number of digits that a double always holds. */
const SAFE_DIGITS = 15;

/** Whether a double cannot hold the number from `first` to `last`; lost digits after a point do not count. */
export function isLongNumber(text: string, first: number, last: number): boolean {
  if (last - first < 2) return false; // even with an exponent: 9e9
  if (last - first < SAFE_DIGITS && !hasExponent(text, first, last)) return false;
  const number = Number(text.slice(first, last + 1));
  return !Number.isFinite(number) || (Number.isInteger(number) && !Number.isSafeInteger(number));
}

function hasExponent(text: string, first: number, last: number): boolean {
  for (let at = first; at <= last; at++) {
    if ((text.charCodeAt(at) | 0x20) === 0x65) return true;
  }
  return false;
}
