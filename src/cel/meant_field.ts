/**
 * "Did you mean" for a field that a condition reads and a payload does not have, out of the names that
 * it does have. Where conditions run, only what they read is known: this needs all of it.
 *
 * ```ts
 * import { withMeant } from "./meant_field.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const payload = { repository: { full_name: "you/app" } };
 * equal(
 *   withMeant("field not found: fullname", [["payload", "repository", "fullname"]], { payload }),
 *   'field not found: fullname, did you mean "full_name"?',
 * );
 * ```
 *
 * @module
 */

import { isJsonObject, type JsonObject } from "../base/json.ts";
import { findLike } from "../base/similar_names.ts";
import { lookUp, type Path, PAYLOAD_FIELD } from "./references.ts";

/** Most names of an object that are looked at: a sender chooses how many there are. */
const MAX_NAMES = 500;

/** Names that are repeated in an error: those of a program, and no text of a person. */
const NAME = /^[\w$.:@/-]{1,100}$/;

const MISSING = /^(field not found|no such variable): (\S+)$/;

/** The error of an expression, with the field that was probably meant where it names one. */
export function withMeant(
  error: string,
  paths: readonly Path[],
  variables: Readonly<JsonObject>,
): string {
  const [, what, name = ""] = MISSING.exec(error) ?? [];
  if (what === undefined) return error;
  const meant = what === "field not found"
    ? paths.map((path) => findMeantField(path, name, variables)).find((one) => one !== undefined)
    : findMeantVariable(name, variables);
  return meant === undefined ? error : `${error}, did you mean "${meant}"?`;
}

/** The name beside the one that is missing on a path, where that is `missing`. */
function findMeantField(
  [variable, ...fields]: Path,
  missing: string,
  variables: Readonly<JsonObject>,
): string | undefined {
  let value = lookUp(variable, variables);
  for (const field of fields) {
    if (!isJsonObject(value)) return undefined;
    if (!Object.hasOwn(value, field)) {
      return field === missing ? findLike(missing, namesIn(value)) : undefined;
    }
    value = value[field];
  }
  return undefined;
}

/** `payload_ref` for `payload_reff`. */
function findMeantVariable(missing: string, variables: Readonly<JsonObject>): string | undefined {
  const { payload } = variables;
  if (!missing.startsWith(PAYLOAD_FIELD) || !isJsonObject(payload)) return undefined;
  const near = findLike(missing.slice(PAYLOAD_FIELD.length), namesIn(payload));
  return near === undefined ? undefined : `${PAYLOAD_FIELD}${near}`;
}

function namesIn(object: JsonObject): string[] {
  const names: string[] = [];
  for (const name in object) {
    if (NAME.test(name)) names.push(name);
    if (names.length === MAX_NAMES) break;
  }
  return names;
}
