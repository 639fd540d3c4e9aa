/**
 * Parts of sentences.
 *
 * @module
 */

/** The text as the beginning of a sentence. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `a`, `a and b`, or `a, b and c`; the same with "or". */
export function listed(words: readonly string[], last: "and" | "or"): string {
  const [end = "", ...others] = words.toReversed();
  return others.length === 0 ? end : `${others.toReversed().join(", ")} ${last} ${end}`;
}
