/**
 * The door to CEL for all other folders: text to a compiled expression, values in, a value or an
 * error out. Runs where it is called; `evaluator.ts` decides where that is.
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
import type { JsonObject } from "../base/json.ts";
import { analyse, type Analysis } from "./analysis.ts";
import { allowTime, LIMITED_ENVIRONMENT, ranOutOfTime } from "./environment.ts";
import { type Failure, toFailure } from "./errors.ts";
import { limitLoops, rewriteAbsence } from "./rewrite.ts";
import { allowText } from "./strings.ts";
import { parseExpression } from "./syntax_tree.ts";
import { fromCel, lookUp, toCel } from "./values.ts";

/** Longest expression, in characters. */
const MAX_SOURCE = 8192;

/** A value, or the error. An error is a normal outcome: it means "filtered". */
export type CelResult = { readonly ok: true; readonly value: unknown } | Failure;

/** The variables of an expression, and the share it belongs to. */
export interface Scope {
  /** Values by variable name; `payload_<field>` is looked up in `payload`. */
  readonly variables: Readonly<JsonObject>;
  /** The share whose queue it waits in, mostly a trigger: shares take turns. */
  readonly share: string;
}

/** A compiled expression, which can be run over many scopes. */
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
 * Compiled expressions by their text. What `svc apply` has checked is compiled for the first request
 * and for each step, and triggers with the same condition share it.
 */
const kept = new Map<string, Expression>();
/** Most characters of these texts together; beyond, all of them are forgotten. */
const MAX_KEPT = 256 * 1024;
let keptCharacters = 0;

/**
 * Compiles an expression, unless it is known.
 *
 * @throws {AppError} `invalid`, with line and column, when the text is not CEL; without them when
 * it is too long or nested too deeply.
 */
export function compileExpression(source: string): Expression {
  if (source.length > MAX_SOURCE) {
    throw new AppError("invalid", `Expression is longer than ${MAX_SOURCE} characters`);
  }
  const known = kept.get(source);
  if (known !== undefined) return known;
  const expression = compile(source);
  keptCharacters += source.length;
  if (keptCharacters > MAX_KEPT) {
    kept.clear();
    keptCharacters = source.length;
  }
  kept.set(source, expression);
  return expression;
}

function compile(source: string): Expression {
  const { evaluate, analysis } = planSource(source);
  return {
    ...analysis,
    source,
    run({ variables }, loopsMs = Infinity) {
      try {
        allowText();
        allowTime(loopsMs);
        const result = evaluate(bindings(analysis.variables, variables));
        if (!isCelError(result)) return { ok: true, value: fromCel(result) };
        if (ranOutOfTime()) return { ok: false, error: result.message, late: true };
        const { variables: names, paths } = analysis;
        return toFailure(result.message, { names, paths, variables });
      } catch (error) {
        return { ok: false, error: messageOf(error) };
      }
    },
  };
}

function planSource(source: string) {
  const parsed = parseExpression(source);
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

/**
 * Why a condition is not true, in words that follow "the condition"; `undefined` when it is. Only
 * `true` lets an event or a step through.
 */
export function whyNotTrue(result: CelResult): string | undefined {
  if (!result.ok) return `failed: ${result.error}`;
  if (result.value === true) return undefined;
  if (result.value === false) return "is false";
  return `gave ${nameOf(result.value)}, neither true nor false`;
}

function nameOf(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "string") return "a text";
  if (typeof value === "bigint" || typeof value === "number") return "a number";
  return Array.isArray(value) ? "a list" : "an object";
}
