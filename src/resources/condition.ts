/**
 * CEL expressions in manifests, checked on apply: they compile, and whatever they name exists.
 *
 * @module
 */

import { messageOf } from "../base/errors.ts";
import { compileExpression } from "../cel/expression.ts";
import { type Fault, findFaults, FUNCTIONS } from "../cel/names.ts";
import { compileTemplate } from "../cel/template.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";
import { findLike } from "./validate.ts";

/** Variables of a trigger's conditions and keys, `payload_<field>` aside. */
const EVENT_VARIABLES = ["payload", "headers", "trigger", "delivery"];

/** Variables of expressions in a workflow, `payload_<field>` aside. */
export const WORKFLOW_VARIABLES: readonly string[] = [
  ...EVENT_VARIABLES,
  "task",
  "steps",
  "goal",
];

/** Variables of a goal: it is filled in before the first step runs, `payload_<field>` aside. */
export const GOAL_VARIABLES: readonly string[] = [...EVENT_VARIABLES, "task"];

/** What is wrong with an expression that stands at `at` and may name `known` variables. */
export function checkExpression(
  source: string | undefined,
  at: FieldPath,
  known: readonly string[] = EVENT_VARIABLES,
): Finding[] {
  if (source === undefined) return [];
  try {
    compileExpression(source);
    return findFaults(source, known).map((fault) => errorAt(at, explain(fault)));
  } catch (error) {
    return [errorAt(at, messageOf(error))];
  }
}

/** What is wrong with the expressions of a text template that stands at `at`. */
export function checkTemplate(
  text: string,
  at: FieldPath,
  known: readonly string[] = WORKFLOW_VARIABLES,
): Finding[] {
  if (text.includes("\0")) return [errorAt(at, "Text holds no NUL")];
  try {
    return compileTemplate(text).parts.flatMap((part) =>
      typeof part === "string" ? [] : checkExpression(part.source, at, known)
    );
  } catch (error) {
    return [errorAt(at, messageOf(error))];
  }
}

/** The place and the fault, and what was meant or what there is. */
function explain({ place, message, unknown }: Fault): string {
  const said = `Does not compile at ${place}: ${message}`;
  if (unknown === undefined) return said;
  const near = findLike(unknown.name, unknown.known);
  if (near !== undefined) return `${said}, did you mean "${near}"?`;
  const more = unknown.known === FUNCTIONS ? "" : " and payload_<field>";
  return `${said}, there are ${unknown.known.join(", ")}${more}`;
}
