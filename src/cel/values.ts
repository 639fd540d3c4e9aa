/**
 * The values of expressions: JSON to CEL and back, and the part of the variables that an expression
 * reads. A payload has megabytes and most expressions read two fields, so objects are converted
 * field by field when an expression asks for one, and only the part that it reads goes to a Worker.
 *
 * @module
 */

import {
  celEnv,
  type CelInput,
  celList,
  celMap,
  celUint,
  isCelList,
  isCelMap,
  isCelType,
  isCelUint,
  parse,
  plan,
} from "@bufbuild/cel";
import { toBase64 } from "../base/bytes.ts";
import { findRawNumber, isJsonObject, type JsonObject } from "../base/json.ts";

/** A variable and the constant fields selected from it, such as `payload`, `commit`, `id`. */
export type Path = readonly [variable: string, ...fields: string[]];

/** How the variables of the top-level fields of a payload begin. */
export const PAYLOAD_FIELD = "payload_";

/** Finds a variable, or else a top-level field of the payload. */
export function lookUp(name: string, variables: Readonly<JsonObject>): unknown {
  if (Object.hasOwn(variables, name)) return variables[name];
  if (name === "unsigned") return unsignedOf(variables);
  const payload = variables["payload"];
  if (!name.startsWith(PAYLOAD_FIELD) || !isJsonObject(payload)) return undefined;
  return own(payload, name.slice(PAYLOAD_FIELD.length));
}

/** The variable `unsigned`: all that a sender wrote, whether it is signed or not. */
function unsignedOf(variables: Readonly<JsonObject>): JsonObject {
  const names = ["payload", "headers", "query", "method", "remote"];
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(variables, name)).map((name) => [name, variables[name]]),
  );
}

function own(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** The part of `variables` at `paths`, the longest first. */
export function cutOut(variables: Readonly<JsonObject>, paths: readonly Path[]): JsonObject {
  const part: JsonObject = Object.create(null);
  for (const [name, ...fields] of paths) {
    const value = lookUp(name, variables);
    if (value !== undefined) graft(part, name, value, fields);
  }
  return part;
}

/** The values at `paths`; of a path that ends too early, the value where it ends. */
export function valuesAt(
  variables: Readonly<JsonObject>,
  paths: readonly Path[],
): readonly unknown[] {
  return paths.map((path) => {
    let value = lookUp(path[0], variables);
    for (let at = 1; at < path.length && isJsonObject(value); at++) {
      value = own(value, path[at] ?? "");
    }
    return value;
  });
}

/** Copies the field of `value` at `fields` into `part`, at the same path below `name`. */
function graft(part: JsonObject, name: string, value: unknown, fields: readonly string[]): void {
  const [field, ...rest] = fields;
  if (field === undefined || !isJsonObject(value)) {
    part[name] = value;
    return;
  }
  const inner = Object.hasOwn(part, name) ? part[name] : Object.create(null);
  part[name] = inner;
  const inside = own(value, field);
  if (inside !== undefined) graft(inner, field, inside, rest);
}

/** Whether `root` as JSON has more than about `limit` characters; stops counting there. */
export function isHeavier(root: unknown, limit: number): boolean {
  const open = [root];
  for (let weight = 0; open.length > 0;) {
    const value = open.pop();
    weight += 2 + ((typeof value === "string" ? value : findRawNumber(value))?.length ?? 0);
    if (Array.isArray(value)) {
      if (weight + value.length > limit) return true;
      for (const item of value) open.push(item);
    } else if (isJsonObject(value)) {
      for (const key of Object.keys(value)) {
        weight += key.length;
        open.push(value[key]);
      }
    }
    if (weight > limit) return true;
  }
  return false;
}

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

/** CEL's text of times and durations, which is their JSON form in protobuf. */
let asText: ReturnType<typeof plan> | undefined;

/** CEL to JSON: bytes in base64, times and durations as text, integers as bigint. */
export function fromCel(value: unknown): unknown {
  if (value === null || typeof value !== "object") return value;
  if (isCelUint(value)) return value.value;
  if (isCelList(value)) return [...value].map(fromCel);
  if (isCelMap(value)) {
    return Object.fromEntries(
      [...value.entries()].map(([key, inner]) => [String(keyOf(key)), fromCel(inner)]),
    );
  }
  if (value instanceof Uint8Array) return toBase64(value);
  if (isCelType(value)) return value.name;
  asText ??= plan(celEnv(), parse("string(value)"));
  const text = asText({ value: value as CelInput });
  return typeof text === "string" ? text : String(value);
}

function keyOf(key: unknown): unknown {
  return isCelUint(key) ? key.value : key;
}
