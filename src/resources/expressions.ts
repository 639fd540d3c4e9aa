/**
 * The expressions of a resource, each with its place, and what they read of what a sender writes.
 *
 * @module
 */

import { compileExpression } from "../cel/expression.ts";
import { strictReads } from "../cel/analysis.ts";
import type { Path } from "../cel/values.ts";
import { compileTemplate } from "../cel/template.ts";
import type { FieldPath } from "./resource.ts";

/** One expression of a spec. */
export interface StatedExpression {
  readonly at: FieldPath;
  /** CEL, without braces around it. */
  readonly source: string;
}

/** A value that an expression reads. */
export interface StatedRead {
  readonly at: FieldPath;
  /** A variable and the constant fields selected from it. */
  readonly path: Path;
}

/** The expression of a field; none where there is no field. */
export function expressionAt(source: string | undefined, at: FieldPath): StatedExpression[] {
  return source === undefined ? [] : [{ at, source }];
}

/** What stands in the braces of a template; nothing of one that does not compile. */
export function templateExpressions(text: string | undefined, at: FieldPath): StatedExpression[] {
  if (text === undefined) return [];
  try {
    return compileTemplate(text).parts.flatMap((part) =>
      typeof part === "string" ? [] : [{ at, source: part.source }]
    );
  } catch {
    return []; // reported where the template is checked
  }
}

/** What a sender writes, or what tells whether he signed it. */
const SENT: ReadonlySet<string> = new Set([
  "payload",
  "headers",
  "query",
  "method",
  "remote",
  "signed",
]);

/** `payload.x` of `payload_x`. */
function spelledOut(path: Path): Path {
  const [variable, ...fields] = path;
  if (!variable.startsWith("payload_")) return path;
  return ["payload", variable.slice("payload_".length), ...fields];
}

/** What expressions read of an event; of `signed` only what has to be there. */
export function readsOf(expressions: readonly StatedExpression[]): StatedRead[] {
  return expressions.flatMap(({ at, source }) => {
    try {
      const { paths } = compileExpression(source);
      const strict = paths.some(([variable]) => variable === "signed") ? strictReads(source) : [];
      const reads = [...paths.filter(([variable]) => variable !== "signed"), ...strict];
      return reads.filter(([variable]) => SENT.has(variable) || variable.startsWith("payload_"))
        .map((path) => ({ at, path: spelledOut(path) }));
    } catch {
      return []; // reported where the expression is checked
    }
  });
}
