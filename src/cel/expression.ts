/**
 * The door to CEL, its only importer (contract 2, "CEL"): text to a compiled expression, values in,
 * a value or an error out. Runs where it is called; `evaluator.ts` decides where that is.
 *
 * ```ts
 * import { compileExpression, scopeOf } from "./expression.ts";
 * import { deepEqual } from "node:assert/strict";
 *
 * const opened = compileExpression('payload_action == "opened" && payload.number > 6');
 * const scope = scopeOf({ payload: { action: "opened", number: 7 } });
 * deepEqual(opened.run(scope), { ok: true, value: true });
 * ```
 *
 * @module
 */

import {
  celEnv,
  type CelInput,
  celList,
  celMap,
  celUint,
  isCelError,
  isCelList,
  isCelMap,
  isCelUint,
  parse,
  plan,
} from "@bufbuild/cel";
import { AppError, messageOf } from "../base/errors.ts";
import { findRawNumber, isJsonObject, type JsonObject } from "../base/json.ts";
import { analyse, type Analysis } from "./analysis.ts";

/** Longest expression we compile, in characters. */
const MAX_SOURCE = 8192;

/** A value, or why there is none. An error is a normal outcome: it means "filtered". */
export type CelResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: string };

/** Where an expression finds its variables. */
export interface Scope {
  /** Values by variable name; `payload_<field>` is looked up in `payload`. */
  readonly variables: Readonly<JsonObject>;
  /** Size of what the variables hold, in bytes; decides whether costly functions run inline. */
  readonly bytes: number;
}

/** A compiled expression. */
export interface Expression extends Analysis {
  /** The text it was compiled from. */
  readonly source: string;
  /** Evaluates here and now; never throws. The value is in JSON's terms, integers as bigint. */
  run(scope: Scope): CelResult;
}

/** A scope over `variables`, whose size is `bytes`. */
export function scopeOf(variables: Readonly<JsonObject>, bytes = 0): Scope {
  return { variables, bytes };
}

const ENV = celEnv();

/**
 * Compiles an expression.
 *
 * @throws {AppError} `invalid`, with line and column, when the text is not CEL or too long.
 */
export function compileExpression(source: string): Expression {
  if (source.length > MAX_SOURCE) {
    throw new AppError("invalid", `Expression is longer than ${MAX_SOURCE} characters`);
  }
  const parsed = parseSource(source);
  const evaluate = plan(ENV, parsed);
  const analysis = analyse(parsed.expr);
  return {
    ...analysis,
    source,
    run(scope) {
      try {
        const result = evaluate(bindings(analysis.variables, scope.variables));
        if (isCelError(result)) {
          return { ok: false, error: explain(result.message, analysis, scope) };
        }
        return { ok: true, value: fromCel(result) };
      } catch (error) {
        return { ok: false, error: messageOf(error) };
      }
    },
  };
}

function parseSource(source: string) {
  try {
    return parse(source);
  } catch (error) {
    const found = /^<input>:(\d+):(\d+): (.*)$/s.exec(messageOf(error));
    if (found === null) throw new AppError("invalid", `Does not compile: ${messageOf(error)}`);
    const [, line, column, message] = found;
    const where = line === "1" ? `column ${column}` : `line ${line}, column ${column}`;
    throw new AppError("invalid", `Does not compile at ${where}: ${message}`);
  }
}

/** CEL says only "unresolved attribute"; a person wants to know which. */
function explain(message: string, analysis: Analysis, scope: Scope): string {
  if (message !== "unresolved attribute") return message;
  const missing = [...analysis.variables].filter((name) => !isBound(name, scope.variables));
  return missing.length === 0 ? message : `no such variable: ${missing.join(", ")}`;
}

const PAYLOAD_FIELD = "payload_";

function isBound(name: string, variables: Readonly<JsonObject>): boolean {
  return lookUp(name, variables) !== undefined;
}

/** A variable by its own name first, then as a top-level field of the payload (spec 2.5). */
function lookUp(name: string, variables: Readonly<JsonObject>): unknown {
  if (Object.hasOwn(variables, name)) return variables[name];
  const payload = variables["payload"];
  if (!name.startsWith(PAYLOAD_FIELD) || !isJsonObject(payload)) return undefined;
  const field = name.slice(PAYLOAD_FIELD.length);
  return Object.hasOwn(payload, field) ? payload[field] : undefined;
}

/** Converts only the variables that the expression names: a payload can have megabytes. */
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

const MAX_INT = 2n ** 63n - 1n;
const MAX_UINT = 2n ** 64n - 1n;

/** JSON to CEL: whole numbers are int, so that `payload.number + 1` means what it says. */
function toCel(value: unknown): CelInput {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value === "string" || typeof value === "boolean" || value === null) return value;
  if (typeof value === "bigint") return value;
  const raw = findRawNumber(value);
  if (raw !== undefined) return bigNumber(raw);
  if (Array.isArray(value)) return celList(value.map(toCel));
  const entries = new Map<string, CelInput>();
  for (const key of Object.keys(value as object)) {
    entries.set(key, toCel((value as JsonObject)[key]));
  }
  return celMap(entries);
}

function bigNumber(source: string): CelInput {
  if (!/^-?\d+$/.test(source)) return Number(source);
  const value = BigInt(source);
  if (value <= MAX_INT && value >= -MAX_INT - 1n) return value;
  return value > 0n && value <= MAX_UINT ? celUint(value) : Number(source);
}

function fromCel(value: unknown): unknown {
  if (isCelUint(value)) return value.value;
  if (isCelList(value)) return [...value].map(fromCel);
  if (isCelMap(value)) {
    return Object.fromEntries(
      [...value.entries()].map(([key, inner]) => [String(key), fromCel(inner)]),
    );
  }
  if (value instanceof Uint8Array || value === null || typeof value !== "object") return value;
  return String(value);
}
