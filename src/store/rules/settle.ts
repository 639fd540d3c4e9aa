/**
 * Calls a rule of `store/rules/` again with each fact that it asks for, until it decides.
 *
 * @module
 */

import type { Needs } from "./needs.ts";

/** Fetches each fact, given the facts that are known already. */
export type Fetchers<Facts> = {
  readonly [Name in keyof Facts]: (known: Partial<Facts>) => Facts[Name];
};

/**
 * The decision of a rule. Only facts that it asks for are fetched.
 *
 * @throws {Error} When it asks for the same fact twice, which would never end.
 */
export function settle<Facts, Decision extends object>(
  decide: (known: Partial<Facts>) => Decision | Needs<Facts>,
  fetchers: Fetchers<Facts>,
): Decision {
  const known: Partial<Facts> = {};
  for (;;) {
    const decision = decide(known);
    if (!("needs" in decision)) return decision;
    const { needs } = decision;
    if (known[needs] !== undefined) throw new Error(`"${String(needs)}" is known already`);
    known[needs] = fetchers[needs](known);
  }
}
