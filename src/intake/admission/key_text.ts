/**
 * The value of an expression that identifies an event or its conversation, as text.
 *
 * @module
 */

/**
 * A text, or the decimal text of a number; empty for anything else. Empty also for a number beyond the
 * safe integers: several ids would become the same double, and different events the same.
 */
export function keyText(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "number" || !Number.isFinite(value)) return "";
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? "" : String(value);
}
