/**
 * The expressions of a resource, each with its place, and the values of an event that they read.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { compileExpression } from "../cel/expression.ts";
import { strictReads } from "../cel/analysis.ts";
import type { Path } from "../cel/values.ts";
import { compileTemplate } from "../cel/template.ts";
import type { FieldPath } from "./resource.ts";

/** One expression of a spec. */
export interface FieldExpression {
  readonly at: FieldPath;
  /** CEL, without braces around it. */
  readonly source: string;
  /** Name of the trigger whose event it reads; that of the task if absent. */
  readonly trigger?: string;
}

/** A value that an expression reads. */
export interface FieldRead {
  readonly at: FieldPath;
  /** A variable and the constant fields selected from it. */
  readonly path: Path;
  /** As that of {@linkcode FieldExpression}. */
  readonly trigger?: string;
}

/** The expression of a field; none without the field. */
export function expressionAt(source: string | undefined, at: FieldPath): FieldExpression[] {
  return source === undefined ? [] : [{ at, source }];
}

/** The expressions in the braces of a template; none of a template that does not compile. */
export function templateExpressions(text: string | undefined, at: FieldPath): FieldExpression[] {
  if (text === undefined) return [];
  try {
    return compileTemplate(text).parts.flatMap((part) =>
      typeof part === "string" ? [] : [{ at, source: part.source }]
    );
  } catch {
    return []; // reported where the template is checked
  }
}

/** Variables whose values a sender wrote, signed or not. */
const SENT: ReadonlySet<string> = new Set([
  "payload",
  "headers",
  "query",
  "method",
  "remote",
  "signed",
]);

/** The path of a variable: `payload.x` for `payload_x`. */
function spelledOut(path: Path): Path {
  const [variable, ...fields] = path;
  if (!variable.startsWith("payload_")) return path;
  return ["payload", variable.slice("payload_".length), ...fields];
}

/** The values of an event that expressions read; of `signed` only those whose absence is an error. */
export function readsOf(expressions: readonly FieldExpression[]): FieldRead[] {
  return expressions.flatMap(({ at, source, trigger }) => {
    try {
      const { paths } = compileExpression(source);
      const strict = paths.some(([variable]) => variable === "signed") ? strictReads(source) : [];
      const reads = [...paths.filter(([variable]) => variable !== "signed"), ...strict];
      return reads.filter(([variable]) => SENT.has(variable) || variable.startsWith("payload_"))
        .map((path) => ({ at, path: spelledOut(path), ...defined({ trigger }) }));
    } catch {
      return []; // reported where the expression is checked
    }
  });
}
