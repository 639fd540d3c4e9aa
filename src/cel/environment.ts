/**
 * The one set of functions and types of expressions: CEL's standard, its string functions, and
 * corrections where the library differs from CEL.
 *
 * @module
 */

import {
  type CelEnv,
  celEnv,
  celFunc,
  type CelMap,
  celMap,
  celMethod,
  CelScalar,
} from "@bufbuild/cel";
import { isCelError, parse, plan } from "@bufbuild/cel";
import { ABSENCE_FUNCTIONS, ABSENCE_PARTS } from "./absence_functions.ts";
import { JSON_FUNCTIONS } from "./json_functions.ts";
import { STRING_FUNCTIONS } from "./strings.ts";
import { IN_TIME } from "./time_limit.ts";
import { TIME_FUNCTIONS } from "./times.ts";

const { BOOL, STRING } = CelScalar;

/** Most steps of one match: parts of the pattern times characters of the text. */
const MAX_STEPS = 1_000_000_000;

const libraryMatches = plan(celEnv(), parse("text.matches(pattern)"));

/** `matches`: refuses a match that could take minutes, because nothing can stop one under way. */
function matches(text: string, pattern: string): boolean {
  if (text.length * partsOfPattern(pattern) > MAX_STEPS) {
    throw new Error("the pattern expands to too many parts for a text of this length");
  }
  const result = libraryMatches({ text, pattern });
  if (isCelError(result)) throw result;
  return result === true;
}

/** The number of parts that a pattern expands to; throws when its repetitions exceed 1,000. */
export function partsOfPattern(pattern: string): number {
  const counts = [...pattern.matchAll(/\{(?:\d+,)?(\d+)/g)].map(([, count]) => Number(count));
  const times = counts.reduce((product, count) => product * Math.max(1, count), 1);
  return pattern.length * Math.min(1000, times);
}

/** CEL defines `matches` as a function too, the library only as a method. */
const MATCHES = [
  celFunc("matches", [STRING, STRING], BOOL, matches),
  celMethod("matches", STRING, [STRING], BOOL, function (pattern) {
    return matches(this, pattern);
  }),
];

const FUNCTIONS = [
  ...STRING_FUNCTIONS,
  ...TIME_FUNCTIONS,
  ...MATCHES,
  ...ABSENCE_FUNCTIONS,
  ...JSON_FUNCTIONS,
];

/** The environment of expressions. */
export const ENVIRONMENT: CelEnv = celEnv({ funcs: FUNCTIONS });

/** The environment of expressions as they run: loops check the time, and absence is rewritten. */
export const LIMITED_ENVIRONMENT: CelEnv = celEnv({
  funcs: [...FUNCTIONS, ...ABSENCE_PARTS, IN_TIME],
});

/**
 * The library treats a key that holds null as absent; CEL treats it as present, also in `has` and
 * `in`. Both ask the map, of a payload or of an expression, so the shared prototype is corrected.
 */
const maps: { has: CelMap["has"] } = Object.getPrototypeOf(celMap(new Map()));
maps.has = function (this: CelMap, key) {
  return this.get(key) !== undefined;
};

/** Types whose name is one word. */
const TYPES = new Set(
  ["int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"],
);

/** First part of the names of all other types and constants. */
const LIBRARY = "google";

/** Whether CEL itself defines a name: types, such as `int` and `google.protobuf.Timestamp`. */
export function isConstant(path: readonly string[]): boolean {
  if (path.length === 1) return TYPES.has(path[0] ?? "");
  if (path[0] !== LIBRARY) return false;
  return !isCelError(plan(ENVIRONMENT, parse(path.join(".")))());
}
