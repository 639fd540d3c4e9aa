/**
 * How a rule asks for facts. A rule is a pure function of the facts known so far: it either
 * decides, or names the one fact it lacks. So a store fetches only facts that the decision needs,
 * and the order of the questions is part of the rule, the same with both databases.
 *
 * @module
 */

/** No decision yet: the caller has to fetch this fact and call the rule again. */
export interface Needs<Facts> {
  readonly needs: keyof Facts;
}

/**
 * A fetched fact: a value, or `none` where nothing is stored. An absent fact has not been fetched.
 */
export type Found<T> = T | "none";
