/**
 * CEL expressions in manifests, checked on apply: they compile, and they name variables that exist.
 *
 * @module
 */

import { messageOf } from "../base/errors.ts";
import { compileExpression } from "../cel/expression.ts";
import { errorAt, type FieldPath, type Finding, warningAt } from "./resource.ts";

/** Variables of a trigger's conditions and keys, `payload_<field>` aside (contract 2, CEL). */
const EVENT_VARIABLES = ["payload", "headers", "trigger", "delivery"];

/** Variables of expressions in a workflow, `payload_<field>` aside. */
export const WORKFLOW_VARIABLES: readonly string[] = [
  ...EVENT_VARIABLES,
  "task",
  "steps",
  "goal",
];

/** What there is to say about an expression that stands at `at` and may name `known` variables. */
export function checkExpression(
  source: string | undefined,
  at: FieldPath,
  known: readonly string[] = EVENT_VARIABLES,
): Finding[] {
  if (source === undefined) return [];
  try {
    const { variables } = compileExpression(source);
    return [...variables]
      .filter((name) => !name.startsWith("payload_") && !known.includes(name))
      .map((name) =>
        warningAt(
          at,
          `No variable is called "${name}", so this always fails. ` +
            `There are ${known.join(", ")} and payload_<field>`,
        )
      );
  } catch (error) {
    return [errorAt(at, messageOf(error))];
  }
}
