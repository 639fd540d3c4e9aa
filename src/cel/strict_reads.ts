/**
 * What an expression reads that has to be there: an error comes of it where it is not.
 *
 * @module
 */

import { fallbackOf, isOptional } from "./absence.ts";
import { type Expr, parseExpression, partsOf } from "./parse.ts";
import type { Path } from "./references.ts";
import { findPath } from "./walk.ts";

/**
 * The variables and fields that an expression reads outside of `default`, `orValue` and `?.`; none
 * where it asks with `has`, because its author has thought of it.
 */
export function strictReads(source: string): Path[] {
  const found: Path[] = [];
  const open: (Expr | undefined)[] = [parseExpression(source).expr];
  while (open.length > 0) {
    const expr = open.pop();
    if (expr === undefined || isOptional(expr)) continue;
    if (expr.exprKind.case === "selectExpr" && expr.exprKind.value.testOnly) return [];
    const fallback = fallbackOf(expr);
    const path = findPath(expr)?.path;
    if (path !== undefined) found.push(path);
    else open.push(...fallback === undefined ? partsOf(expr) : fallback.slice(1));
  }
  return found;
}
