/**
 * A trigger that a source is about to fire, as it is now: it may have gone meanwhile.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import type { ActiveTrigger, Triggers } from "../admission/triggers.ts";

/** The trigger; `undefined` when there is none of that name and source any more. */
export function findTrigger(
  triggers: Triggers,
  name: { readonly project: string; readonly trigger: string; readonly source?: string },
): ActiveTrigger | undefined {
  try {
    return triggers.named(name);
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return undefined;
    throw error;
  }
}
