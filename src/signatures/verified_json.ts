/**
 * JSON that a scheme parses after a key has matched. Before that the bytes come from a stranger and
 * are not parsed, so the function takes the match as an argument.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { parseJson } from "../base/json.ts";
import type { KeyMatch } from "./scheme.ts";

/**
 * The value of a JSON text; `undefined` when it is not JSON. `_match` proves that the sender has
 * shown a key.
 */
export function findVerifiedJson(text: string, _match: KeyMatch & { readonly ok: true }): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}
