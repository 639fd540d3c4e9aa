/**
 * Reads fields of an agent's events. Nothing is known of the events: a field may be missing, or have
 * another type than the agent's documentation says.
 *
 * @module
 */

import { isJsonObject, type JsonObject } from "../base/json.ts";

const NOTHING: JsonObject = Object.freeze({});

/** The own field `name`; `undefined` where `value` is no object or has no such field. */
export function fieldOf(value: unknown, name: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** An object in a field; an empty one where there is none. */
export function objectIn(value: unknown, name: string): JsonObject {
  const found = fieldOf(value, name);
  return isJsonObject(found) ? found : NOTHING;
}

/** A list in a field; an empty one where there is none. */
export function listIn(value: unknown, name: string): readonly unknown[] {
  const found = fieldOf(value, name);
  return Array.isArray(found) ? found : [];
}

/** A text in a field; empty where there is none. */
export function textIn(value: unknown, name: string): string {
  const found = fieldOf(value, name);
  return typeof found === "string" ? found : "";
}

/** A whole number of 0 or more in a field. A number in quotes is none. */
export function countIn(value: unknown, name: string): number | undefined {
  const found = fieldOf(value, name);
  return Number.isSafeInteger(found) && Number(found) >= 0 ? Number(found) : undefined;
}

/** The sum of counts, each 0 where it is missing; `undefined` where all are. */
export function sumIn(value: unknown, ...names: readonly string[]): number | undefined {
  const counts = names.flatMap((name) => countIn(value, name) ?? []);
  return counts.length === 0 ? undefined : counts.reduce((sum, one) => sum + one, 0);
}
