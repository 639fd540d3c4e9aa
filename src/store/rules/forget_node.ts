/**
 * `svc node forget`: which nodes can be forgotten.
 *
 * @module
 */

import type { ErrorCode } from "../../base/errors.ts";

/** Why a node is not forgotten; `undefined` when it is. */
export function refusalToForget(
  id: string,
  { self, isKnown }: { readonly self: string; readonly isKnown: boolean },
): { readonly code: ErrorCode; readonly message: string } | undefined {
  if (id === self) {
    return { code: "conflict", message: "This node answers the request, so it is alive" };
  }
  if (!isKnown) return { code: "not_found", message: `No node "${id}"` };
  return undefined;
}
