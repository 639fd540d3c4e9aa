/**
 * `repeat`: a step whose own steps run again and again, in rounds, until an expression is true.
 *
 * @module
 */

import Type, { type TSchema } from "typebox";
import { WORKFLOW_VARIABLES } from "../cel/template.ts";
import { checkExpression } from "./condition.ts";
import type { FieldPath, Finding } from "./resource.ts";

/** Most rounds of a `repeat`. */
const MAX_ROUNDS = 50;

/** Schema of `repeat`, whose steps have the schema `step`. */
export const repeatOf = <Inner extends TSchema>(step: Inner) =>
  Type.Object({
    max: Type.Integer({
      minimum: 1,
      maximum: MAX_ROUNDS,
      title: `a number of rounds, 1 to ${MAX_ROUNDS}`,
    }),
    until: Type.String({ minLength: 1, title: "a CEL expression, as text" }),
    steps: Type.Array(step, { minItems: 1, title: "a list of at least one step" }),
  }, {
    additionalProperties: false,
    title: 'a mapping with "max", "until" and "steps"',
  });

/** How often the steps of a `repeat` run, without those steps. */
export interface Rounds {
  /** Most rounds. */
  readonly max: number;
  /** What ends it after a round, in CEL. */
  readonly until: string;
}

/** Checks a `repeat` at path `at`, without its steps. */
export function checkRepeat(repeat: Rounds | undefined, at: FieldPath): Finding[] {
  return checkExpression(repeat?.until, [...at, "until"], WORKFLOW_VARIABLES);
}
