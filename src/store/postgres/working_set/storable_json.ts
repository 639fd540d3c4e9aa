/**
 * JSON whose texts PostgreSQL takes out of it again. It keeps no NUL, and refuses the escapes of NUL
 * and of half a surrogate pair; both may come from strangers.
 *
 * @module
 */

import { storable } from "../../sql/columns.ts";

/** An escape that `JSON.stringify` writes for what PostgreSQL refuses, or the text of one. */
const REFUSED = /\\u(0000|d[89a-f])/;

/** A value as JSON: NUL is replaced as in every text, half a pair as where text becomes UTF-8. */
export function storableJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (!REFUSED.test(json)) return json;
  return JSON.stringify(
    value,
    (_, part: unknown) => typeof part === "string" ? storable(part.toWellFormed()) : part,
  );
}
