/**
 * Carries a rule of `store/rules/` to its decision: asks it again with each fact that it needs.
 *
 * @module
 */

import type { Needs } from "../../rules/needs.ts";

/** What fetches each fact; it gets those that are known already. */
export type Fetchers<Facts> = {
  readonly [Name in keyof Facts]: (known: Partial<Facts>) => Facts[Name];
};

/**
 * The decision of a rule, with no fact fetched that it did not ask for.
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
