/**
 * CEL expressions in manifests, checked on apply: they have to compile, and to name only what
 * exists.
 *
 * @module
 */

import { messageOf } from "../base/errors.ts";
import { findLike, findNearest } from "../base/similar_names.ts";
import { compileExpression } from "../cel/expression.ts";
import { type Fault, findFaults, FUNCTIONS } from "../cel/names.ts";
import { compileTemplate, EVENT_VARIABLES, WORKFLOW_VARIABLES } from "../cel/template.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

/** Checks an expression at path `at` that may use the variables `known`. */
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

/** Checks the expressions of a text template at path `at`. */
export function checkTemplate(
  text: string,
  at: FieldPath,
  known: readonly string[] = WORKFLOW_VARIABLES,
): Finding[] {
  if (text.includes("\0")) return [errorAt(at, "Text cannot hold a NUL character")];
  try {
    return compileTemplate(text).parts.flatMap((part) =>
      typeof part === "string" ? [] : checkExpression(part.source, at, known)
    );
  } catch (error) {
    return [errorAt(at, messageOf(error))];
  }
}

/** The message of a fault: its place, and the names that may have been meant. */
function explain({ place, message, unknown }: Fault): string {
  const fault = `Does not compile at ${place}: ${message}`;
  if (unknown === undefined) return fault;
  const near = findLike(unknown.name, unknown.known);
  if (near !== undefined) return `${fault}, did you mean "${near}"?`;
  if (unknown.known !== FUNCTIONS) {
    return `${fault}: use one of ${unknown.known.join(", ")} and payload_<field>`;
  }
  const nearest = findNearest(unknown.name, FUNCTIONS, 3).join(", ");
  return `${fault}; the nearest are ${nearest}, and docs/expressions.md lists them all`;
}
