/**
 * The functions and types of expressions: CEL's standard, functions on texts (`strings.ts`) and
 * times (`times.ts`), those written here, and corrections where the library differs from CEL.
 *
 * @module
 */

import {
  type CelEnv,
  celEnv,
  type CelFunc,
  celFunc,
  type CelInput,
  type CelMap,
  celMap,
  celMethod,
  CelScalar,
  celType,
  type CelValue,
  isCelError,
  isCelList,
  isCelMap,
  isCelUint,
  parse,
  plan,
} from "@bufbuild/cel";
import { systemClock } from "../base/clock.ts";
import { messageOf } from "../base/errors.ts";
import { parseJson } from "../base/json.ts";
import { STRING_FUNCTIONS } from "./strings.ts";
import { TIME_FUNCTIONS } from "./times.ts";
import { toCel } from "./values.ts";

const { BOOL, DYN, STRING } = CelScalar;

/** Most steps of one match: parts of the pattern times characters of the text. */
const MAX_STEPS = 1_000_000_000;

const libraryMatches = plan(celEnv(), parse("text.matches(pattern)"));

/** `matches`: refuses a match that could take minutes, because a running match cannot be stopped. */
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

/** Most characters of a text of JSON that an error shows. */
const MAX_SHOWN = 40;

/** `fromJson`: the value of a text of JSON, such as what an agent printed. */
function fromJson(text: string): CelInput {
  try {
    return toCel(parseJson(text));
  } catch (error) {
    const start = JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
    throw new Error(`fromJson: ${messageOf(error)}: ${start}`, { cause: error });
  }
}

const FUNCTIONS: CelFunc[] = [
  ...STRING_FUNCTIONS,
  ...TIME_FUNCTIONS,
  // CEL defines `matches` as a function too, the library only as a method.
  celFunc("matches", [STRING, STRING], BOOL, matches),
  celMethod("matches", STRING, [STRING], BOOL, function (pattern) {
    return matches(this, pattern);
  }),
  // Their names and arguments only: `rewrite.ts` replaces every call of these two.
  celFunc("default", [DYN, DYN], DYN, (value) => value),
  celMethod("orValue", DYN, [DYN], DYN, function () {
    return this;
  }),
  celFunc("fromJson", [STRING], DYN, fromJson),
];

let timeIsUpAt = Infinity;
let isOver = false;

/** Starts the time of an evaluation, `ms`; evaluations are synchronous and never overlap. */
export function allowTime(ms: number): void {
  timeIsUpAt = systemClock.monotonicMs() + ms;
  isOver = false;
}

/** Whether a loop of this evaluation was ended by the limit. */
export function ranOutOfTime(): boolean {
  return isOver;
}

/** Returns its argument while there is time. Its error ends the loop and those around it. */
function inTime(value: CelValue): CelValue {
  isOver ||= systemClock.monotonicMs() > timeIsUpAt;
  if (isOver) throw new Error("took too long");
  return value;
}

/** Stands for a missing value; no expression can make or keep it. */
const ABSENT = celMap(new Map());

/** The field or element of a value; absent when there is none, or when the value is absent or null. */
function get(value: CelValue, key: CelValue): CelInput {
  if (value === ABSENT || value === null || key === ABSENT) return ABSENT;
  if (isCelMap(value)) {
    const field = value.get(key as string);
    return field === undefined ? ABSENT : field; // a field can hold null
  }
  if (isCelList(value)) {
    const index = Number(isCelUint(key) ? key.value : key);
    if (Number.isInteger(index)) return value.get(index) ?? ABSENT;
  }
  throw new Error(`a value of type ${celType(value).name} has no field ${String(key)}`);
}

/** Functions that `rewrite.ts` puts into a tree, under names that no expression can write. */
const PARTS: readonly CelFunc[] = [
  celFunc("@absent", [], DYN, () => ABSENT),
  celFunc("@false", [DYN], BOOL, () => false),
  celFunc("@given", [DYN], BOOL, (value) => value !== ABSENT),
  celFunc("@useful", [DYN], BOOL, (value) => value !== ABSENT && value !== null),
  celFunc("@get", [DYN, DYN], DYN, get),
  celFunc("@in_time", [DYN], DYN, inTime),
];

/** The environment of expressions as they are written. */
export const ENVIRONMENT: CelEnv = celEnv({ funcs: FUNCTIONS });

/** The environment of expressions as they run, after `rewrite.ts`. */
export const LIMITED_ENVIRONMENT: CelEnv = celEnv({ funcs: [...FUNCTIONS, ...PARTS] });

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

/** Whether CEL itself defines a name, such as the types `int` and `google.protobuf.Timestamp`. */
export function isConstant(path: readonly string[]): boolean {
  if (path.length === 1) return TYPES.has(path[0] ?? "");
  if (path[0] !== LIBRARY) return false;
  return !isCelError(plan(ENVIRONMENT, parse(path.join(".")))());
}
