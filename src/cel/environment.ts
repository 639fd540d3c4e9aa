/**
 * The one set of functions and types that expressions have: CEL's standard, its string functions,
 * and right what the library has otherwise than CEL.
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
import { STRING_FUNCTIONS } from "./strings.ts";
import { IN_TIME } from "./time_limit.ts";
import { TIME_FUNCTIONS } from "./times.ts";

const { BOOL, STRING } = CelScalar;

/** Most steps that one match may take, a part of the pattern at a character of the text each. */
const MAX_STEPS = 1_000_000_000;

const libraryMatches = plan(celEnv(), parse("text.matches(pattern)"));

/** Nothing can end a match that is under way, so one that would take minutes does not begin. */
function matches(text: string, pattern: string): boolean {
  if (text.length * partsOfPattern(pattern) > MAX_STEPS) {
    throw new Error("the pattern unfolds to too many parts for a text of this length");
  }
  const result = libraryMatches({ text, pattern });
  if (isCelError(result)) throw result;
  return result === true;
}

/**
 * How many parts a pattern can unfold to; one whose repetitions come to more than 1,000 is refused.
 */
export function partsOfPattern(pattern: string): number {
  const counts = [...pattern.matchAll(/\{(?:\d+,)?(\d+)/g)].map(([, count]) => Number(count));
  const times = counts.reduce((product, count) => product * Math.max(1, count), 1);
  return pattern.length * Math.min(1000, times);
}

/** CEL has `matches` as a function too, the library only as a method. */
const MATCHES = [
  celFunc("matches", [STRING, STRING], BOOL, matches),
  celMethod("matches", STRING, [STRING], BOOL, function (pattern) {
    return matches(this, pattern);
  }),
];

const FUNCTIONS = [...STRING_FUNCTIONS, ...TIME_FUNCTIONS, ...MATCHES];

/** What an expression may name. */
export const ENVIRONMENT: CelEnv = celEnv({ funcs: FUNCTIONS });

/** What expressions are planned with when their loops have been limited. */
export const LIMITED_ENVIRONMENT: CelEnv = celEnv({ funcs: [...FUNCTIONS, IN_TIME] });

/**
 * To the library a key that holds null is not there; to CEL it is, and `has` and `in` say so. Both
 * ask the map, those of a payload and those written in an expression alike, so it is put right in
 * what all of them inherit.
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

/**
 * Whether CEL itself gives a name a value: types, such as `int` and `google.protobuf.Timestamp`.
 */
export function isConstant(path: readonly string[]): boolean {
  if (path.length === 1) return TYPES.has(path[0] ?? "");
  if (path[0] !== LIBRARY) return false;
  return !isCelError(plan(ENVIRONMENT, parse(path.join(".")))());
}
