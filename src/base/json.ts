/**
 * JSON that keeps the digits of numbers a double cannot hold (contract 2, CEL): such a number is
 * read as a raw JSON value and written back as it stood.
 *
 * ```ts
 * import { parseJson } from "./json.ts";
 * import { equal } from "node:assert/strict";
 *
 * equal(JSON.stringify(parseJson('{"id":9007199254740993}')), '{"id":9007199254740993}');
 * ```
 *
 * @module
 */

import { AppError } from "./errors.ts";

/** A JSON object whose values are still to be looked at. */
export type JsonObject = { [key: string]: unknown };

/** What V8 offers and TypeScript's library does not know yet (TC39 "JSON.parse source text"). */
interface SourceTextJson {
  parse(
    text: string,
    reviver: (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(source: string): unknown;
  isRawJSON(value: unknown): value is { rawJSON: string };
}

const SOURCE_JSON = JSON as unknown as SourceTextJson;

/** A run of digits too long for a double, or an exponent: only then is the slow reader needed. */
const LONG_NUMBER = /\d{16}|\d[eE]/;

/**
 * Reads JSON text; integers a double cannot hold exactly become raw JSON values.
 *
 * @throws {AppError} `invalid` when the text is not JSON or is nested too deeply to walk.
 */
export function parseJson(text: string): unknown {
  try {
    return LONG_NUMBER.test(text) ? SOURCE_JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch (cause) {
    throw new AppError("invalid", "Not valid JSON", { cause });
  }
}

function keepDigits(this: unknown, _key: string, value: unknown, context: { source?: string }) {
  if (typeof value !== "number" || context.source === undefined) return value;
  if (Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value))) {
    return value;
  }
  return SOURCE_JSON.rawJSON(context.source);
}

/** The source text of a number kept by {@linkcode parseJson}; `undefined` for anything else. */
export function findRawNumber(value: unknown): string | undefined {
  return SOURCE_JSON.isRawJSON(value) ? value.rawJSON : undefined;
}

/** JSON text of a value that may hold bigints and kept numbers, all their digits included. */
export function toJson(value: unknown): string {
  return JSON.stringify(
    value,
    (_key, inner) => typeof inner === "bigint" ? SOURCE_JSON.rawJSON(inner.toString()) : inner,
  );
}

/** Whether `value` is a JSON object: neither null, nor a list, nor a kept number. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !SOURCE_JSON.isRawJSON(value);
}
