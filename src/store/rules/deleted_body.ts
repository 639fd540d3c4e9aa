/**
 * The messages about a body that was deleted.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";

/** The end of a sentence that begins with the body. */
export function whyNoBody(deletedAt: number | undefined): string {
  if (deletedAt === undefined) return "is no longer stored";
  return `was deleted on ${rfc3339(deletedAt)} by retention`;
}
