/**
 * The keys of waits for events: texts that expressions over an event have to give, as one digest. So an
 * event finds its waits among any number of them, and no wait takes the event of another.
 *
 * @module
 */

import { sha256Hex } from "../../base/bytes.ts";

/** Longest text that an expression can be compared with, in bytes of UTF-8. */
export const MAX_MATCH_BYTES = 4096;

/** The shape of waits with these expressions, whose order makes no difference to the caller's. */
export function shapeOf(expressions: readonly string[]): string {
  return sha256Hex(JSON.stringify(expressions)).slice(0, 32);
}

/** The digest of the texts that the expressions of a shape gave, in their order. */
export function digestOf(texts: readonly string[]): string {
  return sha256Hex(JSON.stringify(texts)).slice(0, 32);
}

/** Whether a text can be a part of a key: nothing and very long texts match no event. */
export function canMatch(text: string): boolean {
  return text !== "" && text.length <= MAX_MATCH_BYTES &&
    new TextEncoder().encode(text).length <= MAX_MATCH_BYTES;
}
