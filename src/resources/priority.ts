/**
 * Which of the tasks that are ready a worker gets first: those of a higher priority, and of these the
 * oldest. Nothing else counts, so tasks of low priority start when no others are ready.
 *
 * @module
 */

/** The priorities that a trigger may give its tasks; without one they are between these. */
export const PRIORITIES = ["high", "low"] as const;
/** One of {@linkcode PRIORITIES}. */
export type Priority = typeof PRIORITIES[number];

/** The place of a priority in the order of claims: the least goes first. */
export const PLACES = { high: -1, low: 1 } as const satisfies Record<Priority, number>;
/** The place of tasks without a priority. */
export const USUAL_PLACE = 0;

/** The place of a task in the order of claims. */
export function placeOf({ priority }: { readonly priority?: Priority }): number {
  return priority === undefined ? USUAL_PLACE : PLACES[priority];
}
