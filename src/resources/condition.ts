/**
 * CEL expressions of a Trigger, checked on apply: they compile, and they name variables that exist.
 *
 * @module
 */

import { messageOf } from "../base/errors.ts";
import { compileExpression } from "../cel/expression.ts";
import { errorAt, type FieldPath, type Finding, warningAt } from "./resource.ts";

/** Variables of conditions and keys, `payload_<field>` aside (contract 2, CEL). */
const VARIABLES = ["payload", "headers", "trigger", "delivery"];

/** What there is to say about an expression that stands at `at`. */
export function checkExpression(source: string | undefined, at: FieldPath): Finding[] {
  if (source === undefined) return [];
  try {
    const { variables } = compileExpression(source);
    return [...variables]
      .filter((name) => !name.startsWith("payload_") && !VARIABLES.includes(name))
      .map((name) =>
        warningAt(
          at,
          `No variable is called "${name}", so this always fails. ` +
            `There are ${VARIABLES.join(", ")} and payload_<field>`,
        )
      );
  } catch (error) {
    return [errorAt(at, messageOf(error))];
  }
}
