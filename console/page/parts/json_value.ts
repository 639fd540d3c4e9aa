/**
 * JSON as it was written: numbers keep all their digits, and the place of a value is given as a
 * condition names it.
 *
 * @module
 */

/** A number that a JavaScript number cannot hold exactly, as its text. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value of JSON in which exact numbers are kept as text. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | ExactNumber
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** Names and indexes that lead to a value. */
export type Place = readonly (string | number)[];

/** The third argument of a reviver, which the types lack: the text of the value. */
type Reviver = (name: string, value: JsonValue, seen?: { readonly source?: string }) => JsonValue;

/** The value of a JSON text; `undefined` if the text is not JSON. */
export function findJson(text: string): JsonValue | undefined {
  const exact: Reviver = (_name, value, seen) =>
    typeof value === "number" && seen?.source !== undefined && String(value) !== seen.source
      ? new ExactNumber(seen.source)
      : value;
  try {
    return JSON.parse(text, exact as (name: string, value: unknown) => unknown) as JsonValue;
  } catch {
    return undefined;
  }
}

/** `JSON.rawJSON`, which the types lack: a number as it is written. */
const { rawJSON } = JSON as unknown as { readonly rawJSON?: (text: string) => unknown };

/**
 * A JSON text laid out in lines, with its numbers as they are written; the text unchanged if it is
 * not JSON, or if the browser would lose digits.
 */
export function prettyJson(text: string): string {
  if (rawJSON === undefined) return text;
  const exact = (_name: string, value: unknown, seen?: { readonly source?: string }) =>
    typeof value === "number" && seen?.source !== undefined ? rawJSON(seen.source) : value;
  try {
    return JSON.stringify(JSON.parse(text, exact), null, 2);
  } catch {
    return text;
  }
}

/** The members of an object or a list; `undefined` for any other value. */
export function membersOf(
  value: JsonValue,
): readonly (readonly [name: string | number, value: JsonValue])[] | undefined {
  if (typeof value !== "object" || value === null || value instanceof ExactNumber) return undefined;
  if (Array.isArray(value)) return value.map((one, index) => [index, one] as const);
  return Object.entries(value as { readonly [name: string]: JsonValue });
}

/** A value without members as JSON. */
export function plainText(value: JsonValue): string {
  return value instanceof ExactNumber ? value.text : JSON.stringify(value);
}

/** The expression for a place below `root`: `payload.commits[0]["my-field"]`. */
export function expressionOf(root: string, place: Place): string {
  return root +
    place.map((part) =>
      typeof part === "number"
        ? `[${part}]`
        : /^[A-Za-z_][A-Za-z0-9_]*$/.test(part)
        ? `.${part}`
        : `[${JSON.stringify(part)}]`
    ).join("");
}
