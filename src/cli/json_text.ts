/**
 * `-o json` of commands.
 *
 * @module
 */

/** A value as JSON for people and programs, with a line break at its end. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
