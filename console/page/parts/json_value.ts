/**
 * JSON as it was written: whole numbers with all their digits, and the places of values as a
 * condition names them.
 *
 * @module
 */

/** A number whose digits would not survive: its text as it stands. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value of JSON. */
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

/** Engines hand a reviver the text of what it sees; the types do not know it yet. */
type Reviver = (name: string, value: JsonValue, seen?: { readonly source?: string }) => JsonValue;

/** The value of a text; `undefined` when it is not JSON. */
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

/** The types do not know it yet: a number as it is written. */
const { rawJSON } = JSON as unknown as { readonly rawJSON?: (text: string) => unknown };

/**
 * A text of JSON in lines, its numbers as they are written; the text itself where it is no JSON, or
 * the browser would lose their digits.
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

/** The members of an object or a list; `undefined` for a value without any. */
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

/** A place below `root` as an expression: `payload.commits[0]["my-field"]`. */
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
