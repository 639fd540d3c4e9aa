/**
 * The door to CEL for all other folders: text to a compiled expression, values
 * in, a value or an error out. Runs where it is called; `evaluator.ts` decides where that is.
 *
 * ```ts
 * import { type CelResult, compileExpression, type Expression } from "./expression.ts";
 * import { type Scope, scopeOf } from "./expression.ts";
 * import { deepStrictEqual as deepEqual } from "node:assert/strict";
 *
 * const opened: Expression = compileExpression('payload_action == "opened" && payload.number > 6');
 * const scope: Scope = scopeOf({ payload: { action: "opened", number: 7 } });
 * const result: CelResult = opened.run(scope);
 * deepEqual(result, { ok: true, value: true });
 * ```
 *
 * @module
 */

import { type CelInput, isCelError, plan } from "@bufbuild/cel";
import { AppError, messageOf } from "../base/errors.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { rewriteAbsence } from "./absence.ts";
import { analyse, type Analysis } from "./analysis.ts";
import { LIMITED_ENVIRONMENT } from "./environment.ts";
import { limitLoops } from "./limit_loops.ts";
import { parseExpression } from "./parse.ts";
import { lookUp } from "./references.ts";
import { allowText } from "./strings.ts";
import { describeSyntaxError } from "./syntax_error.ts";
import { allowTime, ranOutOfTime } from "./time_limit.ts";
import { toCel } from "./json_values.ts";
import { fromCel } from "./values.ts";

/** Longest expression, in characters. */
const MAX_SOURCE = 8192;

/**
 * A value, or the error. An error is a normal outcome: it means "filtered". `late` is set where the
 * loops exceeded their time.
 */
export type CelResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: string; readonly late?: true };

/** The variables of an expression, and the share it belongs to. */
export interface Scope {
  /** Values by variable name; `payload_<field>` is looked up in `payload`. */
  readonly variables: Readonly<JsonObject>;
  /** The share whose queue it waits in, mostly a trigger: shares take turns. */
  readonly share: string;
}

/** A compiled expression. */
export interface Expression extends Analysis {
  readonly source: string;
  /**
   * Evaluates synchronously, its loops for `loopsMs` at most; never throws. The value is in JSON's
   * terms, integers as bigint.
   */
  run(scope: Scope, loopsMs?: number): CelResult;
}

/** A scope over `variables`; scopes without a share belong to one common share. */
export function scopeOf(variables: Readonly<JsonObject>, share = ""): Scope {
  return { variables, share };
}

/**
 * Compiles an expression.
 *
 * @throws {AppError} `invalid`, with line and column, when the text is not CEL; without them when
 * it is too long or nested too deeply.
 */
export function compileExpression(source: string): Expression {
  if (source.length > MAX_SOURCE) {
    throw new AppError("invalid", `Expression is longer than ${MAX_SOURCE} characters`);
  }
  const { evaluate, analysis } = planSource(source);
  return {
    ...analysis,
    source,
    run(scope, loopsMs = Infinity) {
      try {
        allowText();
        allowTime(loopsMs);
        const result = evaluate(bindings(analysis.variables, scope.variables));
        if (isCelError(result)) {
          if (ranOutOfTime()) return { ok: false, error: result.message, late: true };
          return { ok: false, error: explain(result.message, analysis, scope) };
        }
        return { ok: true, value: fromCel(result) };
      } catch (error) {
        return { ok: false, error: messageOf(error) };
      }
    },
  };
}

function planSource(source: string) {
  const parsed = parseSource(source);
  try {
    const analysis = analyse(parsed.expr);
    limitLoops(parsed.expr);
    if (parsed.expr !== undefined) parsed.expr = rewriteAbsence(parsed.expr);
    return { evaluate: plan(LIMITED_ENVIRONMENT, parsed), analysis };
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new AppError("invalid", "Does not compile: it is nested too deeply", { cause });
  }
}

function parseSource(source: string) {
  try {
    return parseExpression(source);
  } catch (error) {
    const found = /^<input>:(\d+):(\d+): (.*)$/s.exec(messageOf(error));
    if (found === null) throw new AppError("invalid", `Does not compile: ${messageOf(error)}`);
    const [, line = "1", column = "1", message = ""] = found;
    const before = source.split("\n").slice(0, Number(line) - 1).join("\n").length;
    const offset = (line === "1" ? 0 : before + 1) + Number(column) - 1;
    const what = describeSyntaxError(source, offset, message);
    throw new AppError("invalid", `Does not compile at ${place(line, column)}: ${what}`);
  }
}

/** The place of a character of an expression, in words. */
export function placeIn(source: string, offset: number): string {
  const before = source.slice(0, offset).split("\n");
  return place(String(before.length), String((before.at(-1)?.length ?? 0) + 1));
}

function place(line: string | undefined, column: string | undefined): string {
  return line === "1" ? `column ${column}` : `line ${line}, column ${column}`;
}

/** Error of the library for an index out of bounds, which contains a wrong length. */
const NO_INDEX = /^index (\S+) out of bounds \[0, -1\)$/;

/** Names the variables that are missing, where CEL says only "unresolved attribute". */
function explain(message: string, analysis: Analysis, scope: Scope): string {
  if (message !== "unresolved attribute") {
    const uncovered = findUncovered(message, analysis, scope);
    if (uncovered !== undefined) return `no signature covers ${uncovered}`;
    return message.replace(NO_INDEX, "index out of bounds: $1");
  }
  const missing = [...analysis.variables].filter((name) => !isBound(name, scope.variables));
  return missing.length === 0 ? message : `no such variable: ${missing.join(", ")}`;
}

const NO_FIELD = "field not found: ";

/**
 * The value that is not in `signed` because no signature covers it, where that is why a field was not
 * found. A field that the payload itself lacks is not there for another reason.
 */
function findUncovered(
  message: string,
  { paths }: Analysis,
  { variables }: Scope,
): string | undefined {
  if (!message.startsWith(NO_FIELD)) return undefined;
  const missing = message.slice(NO_FIELD.length);
  const signed = variables["signed"];
  for (const [variable, part, field] of paths) {
    if (variable !== "signed" || part === undefined || !isJsonObject(signed)) continue;
    if (!Object.hasOwn(signed, part)) {
      if (part === missing) return part;
      continue;
    }
    const covered = signed[part];
    if (field !== missing || !isJsonObject(covered) || Object.hasOwn(covered, field)) continue;
    if (part === "headers") return `headers["${field}"]`;
    const { payload } = variables;
    const isThere = isJsonObject(payload) && Object.hasOwn(payload, field);
    if (part === "payload" && isThere) return `payload.${field}`;
  }
  return undefined;
}

function isBound(name: string, variables: Readonly<JsonObject>): boolean {
  return lookUp(name, variables) !== undefined;
}

/** The variables that the expression names, as CEL sees them. */
function bindings(
  names: ReadonlySet<string>,
  variables: Readonly<JsonObject>,
): Record<string, CelInput> {
  const bound: Record<string, CelInput> = {};
  for (const name of names) {
    const value = lookUp(name, variables);
    if (value !== undefined) bound[name] = toCel(value);
  }
  return bound;
}
