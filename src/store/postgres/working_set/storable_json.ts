/**
 * JSON that PostgreSQL can take apart. It cannot store NUL, and refuses JSON with an escaped NUL or
 * half a surrogate pair, which text from strangers may contain.
 *
 * @module
 */

import { storable } from "../../sql/columns.ts";

/** An escape of a character that PostgreSQL refuses, or text that looks like such an escape. */
const REFUSED = /\\u(0000|d[89a-f])/;

/**
 * A value as JSON: NUL is replaced as `storable` does it, half a surrogate pair as UTF-8 encoders
 * do it.
 */
export function storableJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (!REFUSED.test(json)) return json;
  return JSON.stringify(
    value,
    (_, part: unknown) => typeof part === "string" ? storable(part.toWellFormed()) : part,
  );
}
