/**
 * The place of a fault in a condition: the line and the column that a refusal names. Pure.
 *
 * @module
 */

/** A place in a text, counted from 1. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** The place that a refusal names; `undefined` if it names none. */
export function placeOf({ message, details }: {
  readonly message: string;
  readonly details: readonly string[];
}): TextPlace | undefined {
  for (const text of [message, ...details]) {
    const [, line = "1", column] = /\bat (?:line ([0-9]+), )?column ([0-9]+)/.exec(text) ?? [];
    if (column !== undefined) return { line: Number(line), column: Number(column) };
  }
  return undefined;
}

/** The index of a place in a text. */
export function indexOf(text: string, { line, column }: TextPlace): number {
  const before = text.split("\n").slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  return Math.min(before + column - 1, text.length);
}
