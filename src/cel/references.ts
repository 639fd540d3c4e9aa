/**
 * The part of the variables that an expression can read: its size decides where the expression
 * runs, and only it is sent to the Worker. A payload has megabytes, most expressions read two
 * fields.
 *
 * @module
 */

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

/** What a sender writes, signed or not: the values themselves, under a name that says so. */
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

/** Copies the field of `value` at `fields` into `part`, at the same path below `name`. */
function graft(part: JsonObject, name: string, value: unknown, fields: readonly string[]): void {
  const [field, ...rest] = fields;
  if (field === undefined || !isJsonObject(value)) {
    part[name] = value;
    return;
  }
  const inner = Object.hasOwn(part, name) ? part[name] : Object.create(null);
  part[name] = inner;
  const found = own(value, field);
  if (found !== undefined) graft(inner, field, found, rest);
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
