/**
 * The rights of the person at this page. The daemon checks them; the page shows beforehand which
 * ones are lacking.
 *
 * @module
 */

import { hasRole, type Role } from "../../../src/base/roles.ts";
import { session } from "../data/session.ts";
import { status } from "../data/status.ts";

/** Why the person at this page lacks the role `needed`; `undefined` if they have it. */
export function whyNot(needed: Role): string | undefined {
  if (typeof session.value === "object" && session.value.read_only && needed !== "read_only") {
    return "This console is read-only: it was started with --read-only";
  }
  const role = status.value?.caller.role;
  if (role === undefined) return "Not known yet: waiting for the daemon";
  if (role !== null && hasRole(role, needed)) return undefined;
  return `Your role is ${role ?? "that of a run"}, and this needs ${needed}`;
}
