/**
 * Only `true` lets an event or a step through.
 *
 * @module
 */

import type { CelResult } from "./expression.ts";

/** Why a condition is not true, in words that follow "the condition"; `undefined` when it is. */
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
