/**
 * JSON that a scheme reads to finish its check, once a key has matched: before that, bytes are a
 * stranger's and are not parsed. The match is asked for so that the order cannot be another one.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { parseJson } from "../base/json.ts";
import type { KeyMatch } from "./scheme.ts";

/** The value of a JSON text whose sender has shown a key; `undefined` when it is not JSON. */
export function findVerifiedJson(text: string, _match: KeyMatch & { readonly ok: true }): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}
