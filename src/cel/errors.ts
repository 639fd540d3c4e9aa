/**
 * The errors of expressions in words for people. The only file that knows the texts of the library's
 * errors; `tests/cel/errors_test.ts` fails when the library changes one of them.
 *
 * @module
 */

import { AppError, messageOf } from "../base/errors.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { findLike } from "../base/similar_names.ts";
import { lookUp, type Path, PAYLOAD_FIELD } from "./values.ts";

/** An error of the library's parser. One without `expected` is a reserved word. */
interface ParseError extends Error {
  readonly location: { readonly start: { readonly offset: number } };
  readonly expected?: readonly Expectation[];
}

/** Text that the parser expected at the place where it stopped. */
interface Expectation {
  readonly type: "literal" | "class" | "any" | "end" | "pattern" | "other";
  readonly value: string;
}

function isParseError(error: unknown): error is ParseError {
  return error instanceof Error && "location" in error;
}

/** Spellings of other languages at the place where the parser stopped, and the spelling of CEL. */
const HABITS: readonly (readonly [habit: RegExp, cure: string])[] = [
  [/^===/, 'write "==" instead of "==="'],
  [/^=~/, 'write VALUE.matches("PATTERN")'],
  [/^=(?!=)/, 'write "==" to compare'],
  [/^<>/, 'write "!=" instead of "<>"'],
  [/^(?:&(?!&)|and\b)/i, 'write "&&"'],
  [/^(?:\|(?!\|)|or\b)/i, 'write "||"'],
  [/^not\b/i, 'write "!"'],
];

/** Operators between two values. */
const OPERATOR = /^(?:==|!=|<=|>=|&&|\|\||[-+*/%<>?]|in\b)/;

/** The error `invalid` of a text that the library's parser refused with `error`. */
export function toSyntaxError(source: string, error: unknown): AppError {
  if (!isParseError(error)) {
    return new AppError("invalid", `Does not compile: ${messageOf(error)}`);
  }
  const { location: { start: { offset } }, expected } = error;
  return syntaxErrorAt(source, offset, describeSyntaxError(source, offset, expected));
}

/** The error `invalid` of an expression with a fault at `offset`. */
export function syntaxErrorAt(source: string, offset: number, fault: string): AppError {
  return new AppError("invalid", `Does not compile at ${placeIn(source, offset)}: ${fault}`);
}

/** The place of a character of an expression: `column 3`, or `line 2, column 3`. */
export function placeIn(source: string, offset: number): string {
  const lines = source.slice(0, offset).split("\n");
  const column = `column ${(lines.at(-1)?.length ?? 0) + 1}`;
  return lines.length === 1 ? column : `line ${lines.length}, ${column}`;
}

/** The fault at the place where the parser stopped; the parser itself names only a letter there. */
function describeSyntaxError(
  source: string,
  offset: number,
  expected: readonly Expectation[] | undefined,
): string {
  const rest = source.slice(offset);
  if (/^\s*\$?\{\{/.test(source)) return 'leave out "{{" and "}}", all of it is an expression';
  if (/[“”‘’]/.test(rest)) return "put texts in straight quotes, \" or '";
  if (/\bnot\s+$/i.test(source.slice(0, offset))) return 'write "!"';
  for (const [habit, cure] of HABITS) if (habit.test(rest)) return cure;
  const [word] = /^(?:\w+|.)/u.exec(rest.trimStart()) ?? [];
  if (expected === undefined) return `"${word}" is reserved, a field is VALUE["${word}"]`;
  const [operator] = OPERATOR.exec(rest) ?? [];
  if (operator !== undefined) return `no complete expression follows "${operator}"`;
  const only = onlyOneOf(expected);
  if (/^[.[(]/.test(rest) && only?.type === "end") {
    return `the expression that begins with "${word}" is not complete`;
  }
  const stop = word === undefined ? "it ends here" : `found "${word}"`;
  if (only?.type === "end") return `${stop}, where an operator or the end was expected`;
  if (only?.type === "literal" && only.value.length === 1) {
    return `${stop}, where '${only.value}' was expected`;
  }
  return `${stop}, where a value was expected`;
}

function onlyOneOf([first, ...others]: readonly Expectation[]): Expectation | undefined {
  return others.every((other) => other.value === first?.value) ? first : undefined;
}

/** The library's error for a variable that has no value; it does not name the variable. */
export const UNRESOLVED = "unresolved attribute";

/** How the library's error for a missing field begins; the name of the field follows. */
export const NO_FIELD = "field not found: ";

/** The library's error for an index out of bounds, which contains a wrong length. */
export const NO_INDEX = /^index (\S+) out of bounds \[0, -1\)$/;

/** The error of an evaluation. */
export interface Failure {
  readonly ok: false;
  readonly error: string;
  /** Set where loops exceeded their time. */
  readonly late?: true;
  /** The field or variable whose absence is the error, if it is a single one. */
  readonly missing?: { readonly field: string } | { readonly variable: string };
}

/** The reads of an expression, and the variables that it is evaluated over. */
export interface Reads {
  /** Names of its variables. */
  readonly names: ReadonlySet<string>;
  readonly paths: readonly Path[];
  readonly variables: Readonly<JsonObject>;
}

/** The failure of an evaluation that the library ended with the error `message`. */
export function toFailure(message: string, { names, paths, variables }: Reads): Failure {
  if (message === UNRESOLVED) {
    const missing = [...names].filter((name) => lookUp(name, variables) === undefined);
    const [variable] = missing;
    if (variable === undefined) return { ok: false, error: message };
    const error = `no such variable: ${missing.join(", ")}`;
    return missing.length > 1 ? { ok: false, error } : { ok: false, error, missing: { variable } };
  }
  if (message.startsWith(NO_FIELD)) {
    const field = message.slice(NO_FIELD.length);
    const uncovered = findUncovered(field, paths, variables);
    if (uncovered !== undefined) return { ok: false, error: `no signature covers ${uncovered}` };
    return { ok: false, error: message, missing: { field } };
  }
  return { ok: false, error: message.replace(NO_INDEX, "index out of bounds: $1") };
}

/**
 * The value that `signed` lacks because no signature covers it, if `field` is missing for that
 * reason. A field that the payload itself lacks is missing for another reason.
 */
function findUncovered(
  field: string,
  paths: readonly Path[],
  { signed, payload }: Readonly<JsonObject>,
): string | undefined {
  if (!isJsonObject(signed)) return undefined;
  for (const [variable, part, name] of paths) {
    if (variable !== "signed" || part === undefined) continue;
    if (!Object.hasOwn(signed, part)) {
      if (part === field) return part;
      continue;
    }
    const covered = signed[part];
    if (name !== field || !isJsonObject(covered) || Object.hasOwn(covered, name)) continue;
    if (part === "headers") return `headers["${name}"]`;
    const isSent = isJsonObject(payload) && Object.hasOwn(payload, name);
    if (part === "payload" && isSent) return `payload.${name}`;
  }
  return undefined;
}

/** Most names of an object that are compared: a sender chooses how many there are. */
const MAX_NAMES = 500;

/** Names that an error may repeat: those that programs choose, not texts of people. */
const NAME = /^[\w$.:@/-]{1,100}$/;

/**
 * The error of a failure with "did you mean", if the variables have a name like the missing one.
 * `variables` are all of them: the place where an expression runs knows only the part that it
 * reads.
 *
 * ```ts
 * import { withSuggestion } from "./errors.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const error = "field not found: fullname";
 * equal(
 *   withSuggestion(
 *     { ok: false, error, missing: { field: "fullname" } },
 *     [["payload", "repository", "fullname"]],
 *     { payload: { repository: { full_name: "you/app" } } },
 *   ),
 *   'field not found: fullname, did you mean "full_name"?',
 * );
 * ```
 */
export function withSuggestion(
  { error, missing }: Failure,
  paths: readonly Path[],
  variables: Readonly<JsonObject>,
): string {
  if (missing === undefined) return error;
  const near = "variable" in missing
    ? findLikeVariable(missing.variable, variables)
    : paths.map((path) => findLikeField(path, missing.field, variables))
      .find((name) => name !== undefined);
  return near === undefined ? error : `${error}, did you mean "${near}"?`;
}

/** The similar variable `payload_ref` for the unknown `payload_reff`. */
function findLikeVariable(name: string, { payload }: Readonly<JsonObject>): string | undefined {
  if (!name.startsWith(PAYLOAD_FIELD) || !isJsonObject(payload)) return undefined;
  const near = findLike(name.slice(PAYLOAD_FIELD.length), namesIn(payload));
  return near === undefined ? undefined : `${PAYLOAD_FIELD}${near}`;
}

/** The name of a field like `missing`, where `missing` is the first field of the path that is missing. */
function findLikeField(
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

function namesIn(object: JsonObject): string[] {
  const names: string[] = [];
  for (const name in object) {
    if (NAME.test(name)) names.push(name);
    if (names.length === MAX_NAMES) break;
  }
  return names;
}
