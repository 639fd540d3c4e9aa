/**
 * The one set of functions and types that expressions have: CEL's standard, its string functions,
 * and right what the library has otherwise than CEL.
 *
 * @module
 */

import { type CelEnv, celEnv, celFunc, type CelMap, celMap, CelScalar } from "@bufbuild/cel";
import { isCelError, parse, plan } from "@bufbuild/cel";
import { STRING_FUNCTIONS } from "./strings.ts";
import { TIME_FUNCTIONS } from "./times.ts";

const { BOOL, STRING } = CelScalar;

const matchesPattern = plan(celEnv(), parse("text.matches(pattern)"));

/** CEL has it as a function too, the library only as a method. */
const MATCHES = celFunc("matches", [STRING, STRING], BOOL, (text, pattern) => {
  const result = matchesPattern({ text, pattern });
  if (isCelError(result)) throw result;
  return result === true;
});

/** What every expression is planned with. */
export const ENVIRONMENT: CelEnv = celEnv({
  funcs: [...STRING_FUNCTIONS, ...TIME_FUNCTIONS, MATCHES],
});

/**
 * To the library a key that holds null is not there; to CEL it is, and `has` and `in` say so. Both ask
 * the map, those of a payload and those written in an expression alike, so it is put right in what all
 * of them inherit.
 */
const maps: { has: CelMap["has"] } = Object.getPrototypeOf(celMap(new Map()));
maps.has = function (this: CelMap, key) {
  return this.get(key) !== undefined;
};

/** The types that have a name of one word. */
const TYPES = new Set(
  ["int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"],
);

/** Where the names of all other types and constants begin. */
const LIBRARY = "google";

/** Whether CEL itself gives a name a value: types, such as `int` and `google.protobuf.Timestamp`. */
export function isConstant(path: readonly string[]): boolean {
  if (path.length === 1) return TYPES.has(path[0] ?? "");
  if (path[0] !== LIBRARY) return false;
  return !isCelError(plan(ENVIRONMENT, parse(path.join(".")))());
}
