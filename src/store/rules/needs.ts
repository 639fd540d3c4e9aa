/**
 * How a rule asks for facts. A rule is a pure function: it gets what is known so far, and either
 * decides or names the one fact it lacks. So a store fetches nothing that the decision does not
 * need, and the order of the questions stands in the rule, whatever database answers them.
 *
 * @module
 */

/** No decision yet: this fact has to be fetched, and the rule asked again. */
export interface Needs<Facts> {
  /** Name of the fact. */
  readonly needs: keyof Facts;
}

/**
 * A fact that was looked for: what there is, or that there is nothing. Absent means not looked for.
 */
export type Found<T> = T | "none";
