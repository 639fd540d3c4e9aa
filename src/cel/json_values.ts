/**
 * JSON values as CEL sees them. Objects are converted field by field when an expression asks for
 * one: a payload can have megabytes.
 *
 * @module
 */

import { type CelInput, celList, celMap, celUint } from "@bufbuild/cel";
import { findRawNumber, type JsonObject } from "../base/json.ts";

const MAX_INT = 2n ** 63n - 1n;
const MAX_UINT = 2n ** 64n - 1n;

/** Digits and sign of the longest 64-bit integer; parsing a longer one would be wasted time. */
const MAX_DIGITS = 20;

/** JSON to CEL: whole numbers are int, so that `payload.number + 1` works. */
export function toCel(value: unknown): CelInput {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value === "string" || typeof value === "boolean" || value === null) return value;
  if (typeof value === "bigint") return value;
  const raw = findRawNumber(value);
  if (raw !== undefined) return bigNumber(raw);
  if (Array.isArray(value)) return celList(value.map(toCel));
  return celMap(new FieldMap(value as JsonObject));
}

function bigNumber(source: string): CelInput {
  if (source.length > MAX_DIGITS || !/^-?\d+$/.test(source)) return Number(source);
  const value = BigInt(source);
  if (value <= MAX_INT && value >= -MAX_INT - 1n) return value;
  return value > 0n && value <= MAX_UINT ? celUint(value) : Number(source);
}

/** The own fields of a JSON object, each converted when it is read. */
class FieldMap implements ReadonlyMap<string, CelInput> {
  readonly #fields: Readonly<JsonObject>;

  constructor(fields: Readonly<JsonObject>) {
    this.#fields = fields;
  }

  get size(): number {
    return Object.keys(this.#fields).length;
  }

  has(key: unknown): boolean {
    return typeof key === "string" && Object.hasOwn(this.#fields, key);
  }

  get(key: unknown): CelInput | undefined {
    return this.has(key) ? toCel(this.#fields[key as string]) : undefined;
  }

  forEach(each: (value: CelInput, key: string, map: ReadonlyMap<string, CelInput>) => void): void {
    for (const [key, value] of this.entries()) each(value, key, this);
  }

  keys(): MapIterator<string> {
    return Object.keys(this.#fields).values();
  }

  *entries(): MapIterator<[string, CelInput]> {
    for (const key of this.keys()) yield [key, toCel(this.#fields[key])];
  }

  *values(): MapIterator<CelInput> {
    for (const key of this.keys()) yield toCel(this.#fields[key]);
  }

  [Symbol.iterator](): MapIterator<[string, CelInput]> {
    return this.entries();
  }
}
