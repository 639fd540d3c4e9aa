/**
 * CEL expressions in manifests, checked on apply: they have to compile, and to name only what
 * exists.
 *
 * @module
 */

import { messageOf } from "../base/errors.ts";
import { findLike, findNearest } from "../base/similar_names.ts";
import { compileExpression } from "../cel/expression.ts";
import { headersRead } from "../cel/analysis.ts";
import { type Fault, findFaults, FUNCTIONS } from "../cel/names.ts";
import { compileTemplate, EVENT_VARIABLES, WORKFLOW_VARIABLES } from "../cel/template.ts";
import { errorAt, type FieldPath, type Finding, warningAt } from "./resource.ts";

const OPEN_HOLE = '"{{" without "}}" stays as it is, nothing is filled in';

/** Checks an expression at path `at` that may use the variables `known`. */
export function checkExpression(
  source: string | undefined,
  at: FieldPath,
  known: readonly string[] = EVENT_VARIABLES,
): Finding[] {
  if (source === undefined) return [];
  try {
    compileExpression(source);
    return [
      ...findFaults(source, known).map((fault) => errorAt(at, explain(fault))),
      ...headersRead(source).filter((name) => name !== name.toLowerCase())
        .map((name) => warningAt(at, neverThere(name))),
    ];
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
    return compileTemplate(text).parts.flatMap((part) => {
      if (typeof part !== "string") return checkExpression(part.source, at, known);
      return part.includes("{{") ? [warningAt(at, OPEN_HOLE)] : [];
    });
  } catch (error) {
    return [errorAt(at, messageOf(error))];
  }
}

function neverThere(header: string): string {
  const lower = header.toLowerCase();
  return `A header "${header}" never exists, because names are in lower case here: headers["${lower}"]`;
}

/** The message of a fault: its place, and the names that may have been meant. */
function explain({ place, message, unknown }: Fault): string {
  const fault = `Does not compile at ${place}: ${message}`;
  if (unknown === undefined) return fault;
  const { name, known } = unknown;
  const near = findLike(name, known) ?? known.find((one) => one.toLowerCase().startsWith(name));
  if (near !== undefined) return `${fault}, did you mean "${near}"?`;
  if (known !== FUNCTIONS) {
    return `${fault}: use one of ${known.join(", ")} and payload_<field>`;
  }
  const nearest = findNearest(name, FUNCTIONS, 3).join(", ");
  return `${fault}; the nearest are ${nearest}, and docs/expressions.md lists them all`;
}
