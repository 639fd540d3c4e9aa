/**
 * JSON that keeps the digits of numbers that a double cannot hold: such a number is read as a raw JSON
 * value, and written with the same digits.
 *
 * ```ts
 * import { findRawNumber, isJsonObject, type JsonObject, parseJson, toJson } from "./json.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const value = parseJson('{"id":9007199254740993}');
 * const event: JsonObject = isJsonObject(value) ? value : {};
 * equal(findRawNumber(event["id"]), "9007199254740993");
 * equal(toJson(event), '{"id":9007199254740993}');
 * ```
 *
 * @module
 */

import { AppError } from "./errors.ts";
import { checkJsonLimits, isLargeJson } from "./json_limits.ts";
import { findLongNumbers, markNumbers, type NumberPlace } from "./long_numbers.ts";

/** A JSON object whose values have not been checked. */
export type JsonObject = { [key: string]: unknown };

/** Functions of V8 that TypeScript's library does not declare yet (TC39 "JSON.parse source text"). */
interface SourceTextJson {
  rawJSON(source: string): unknown;
  isRawJSON(value: unknown): value is { rawJSON: string };
}

const SOURCE_JSON = JSON as unknown as SourceTextJson;

/**
 * Parses a JSON text; numbers that a double cannot hold become raw JSON values.
 *
 * @throws {AppError} `invalid` when the text is not JSON, or large and beyond `JSON_LIMITS`.
 */
export function parseJson(text: string): unknown {
  if (!isLargeJson(text)) return parseOwnJson(text);
  const longNumbers = checkJsonLimits(text);
  return keepDigits(text, parseText(text), longNumbers);
}

/**
 * The same without the limits: for texts that this program has written, from values that were within
 * the limits when they arrived, and for processes in which no other request waits.
 *
 * @throws {AppError} `invalid` when the text is not JSON.
 */
export function parseOwnJson(text: string): unknown {
  const value = parseText(text);
  return hasLongNumber(value) ? keepDigits(text, value, findLongNumbers(text)) : value;
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message = text.trim() === "" ? "Empty, where JSON is expected" : "Not valid JSON";
    throw new AppError("invalid", message, { cause });
  }
}

/** Whether a parsed value has a long number. It uses no recursion, because the value can be deep. */
function hasLongNumber(root: unknown): boolean {
  const open = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value === "number") {
      if (value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER) return true;
    } else if (Array.isArray(value)) {
      for (const item of value) if (canHoldNumber(item)) open.push(item);
    } else if (typeof value === "object" && value !== null) {
      for (const key in value) { // without a list of keys; parsed objects inherit no keys
        const item = (value as JsonObject)[key];
        if (canHoldNumber(item)) open.push(item);
      }
    }
  }
  return false;
}

function canHoldNumber(value: unknown): boolean {
  return typeof value === "number" || typeof value === "object" && value !== null;
}

/** Parses `text`, the JSON of `value`, again if it has long numbers, which are marked in it. */
function keepDigits(text: string, value: unknown, longNumbers: readonly NumberPlace[]): unknown {
  if (longNumbers.length === 0) return value;
  const mark = `${crypto.randomUUID()} `; // no sender can know it
  return unmark(JSON.parse(markNumbers(text, longNumbers, mark)), mark);
}

/** Replaces marked texts by raw JSON values. It uses no recursion, because a payload can be deep. */
function unmark(root: unknown, mark: string): unknown {
  const open: object[] = [];
  const look = (value: unknown) => {
    if (typeof value === "object" && value !== null) open.push(value);
    const marked = typeof value === "string" && value.startsWith(mark);
    return marked ? SOURCE_JSON.rawJSON(value.slice(mark.length)) : value;
  };
  const whole = look(root);
  for (let inside = open.pop(); inside !== undefined; inside = open.pop()) {
    if (Array.isArray(inside)) {
      for (let i = 0; i < inside.length; i++) inside[i] = look(inside[i]);
    } else {
      const fields = inside as JsonObject;
      for (const key of Object.keys(fields)) fields[key] = look(fields[key]);
    }
  }
  return whole;
}

/** The digits of a number that {@linkcode parseJson} has kept; `undefined` for anything else. */
export function findRawNumber(value: unknown): string | undefined {
  return SOURCE_JSON.isRawJSON(value) ? value.rawJSON : undefined;
}

/** The JSON text of a value, with all digits of its bigints and kept numbers. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value); // many times faster than with a replacer
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  return JSON.stringify(
    value,
    (_key, inner) => typeof inner === "bigint" ? SOURCE_JSON.rawJSON(inner.toString()) : inner,
  );
}

/** Whether `value` is a JSON object: not null, a list or a kept number. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !SOURCE_JSON.isRawJSON(value);
}

/** A member of an answer that is an object; an empty one for anything else. */
export function objectIn(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** A member of an answer that is a text; an empty one for anything else. */
export function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Whether two JSON values are equal; the order of keys does not count. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [Object.entries(a), b as Record<string, unknown>];
  return left.length === Object.keys(right).length &&
    left.every(([key, value]) => Object.hasOwn(right, key) && sameJson(value, right[key]));
}
