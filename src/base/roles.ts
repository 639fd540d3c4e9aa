/**
 * The roles of people and of bearer tokens, and their order.
 *
 * @module
 */

/** Weakest first; each includes those before it. */
export const ROLES = ["read_only", "operator", "admin"] as const;
/** One of {@linkcode ROLES}. */
export type Role = typeof ROLES[number];

/** Whether `role` is at least `needed`. */
export function hasRole(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** The weaker of two roles. */
export function lowerRole(one: Role, other: Role): Role {
  return hasRole(one, other) ? other : one;
}
