/**
 * Explains the value of a condition: its parts, split at `&&`, `||` and `!`, each with its value
 * and the values of the fields that it read. For operators; never on the path of a request.
 *
 * @module
 */

import { toJson } from "../base/json.ts";
import { isConstant } from "./environment.ts";
import type { Evaluator } from "./evaluator.ts";
import { compileExpression, type Scope } from "./expression.ts";
import { callOf, type Expr, findPath, parseExpression, toText } from "./syntax_tree.ts";
import type { Path } from "./values.ts";

/** One part of a condition. */
export interface ExplainedPart {
  readonly expression: string;
  /** Its value as JSON, truncated when long; absent if it has none. */
  readonly value?: string;
  /** Why it has no value. */
  readonly error?: string;
  /**
   * The fields that it read with their values as JSON, truncated when long; without fields whose
   * value is already in its value or its error.
   */
  readonly saw: Readonly<Record<string, string>>;
  /** Whether a signature covers each field that it read; without fields that no sender writes. */
  readonly signed: Readonly<Record<string, boolean>>;
}

/** Whether a signature covers a value; `undefined` for a value that no sender writes. */
export type IsSigned = (path: Path) => boolean | undefined;

/** Share of the evaluations for operators, apart from those of webhooks. */
export const OPERATORS = "operators";

/** Longest value that is shown, in characters. */
const MAX_SHOWN = 200;

/** The id of an expression that stands in no text. */
const NO_ID = 0n;

const LOGICAL = new Set(["_&&_", "_||_", "!_"]);

/**
 * The parts of a condition over `scope`, in the order of its text. `isSigned` says whether a
 * signature covers a value; it is absent for events without a signature.
 */
export async function explainCondition(
  source: string,
  scope: Scope,
  evaluator: Evaluator,
  isSigned: IsSigned = () => undefined,
): Promise<ExplainedPart[]> {
  const parsed = parseExpression(source);
  const parts: ExplainedPart[] = [];
  for (const leaf of leaves(parsed.expr)) {
    const expression = toText({ ...parsed, expr: leaf }, source);
    const result = await evaluator.evaluate(compileExpression(expression), scope);
    const outcome = result.ok ? { value: shown(result.value) } : { error: result.error };
    const saw: Record<string, string> = {};
    const signed: Record<string, boolean> = {};
    for (const field of fields(leaf)) {
      const name = toText({ ...parsed, expr: field }, source);
      const path = findPath(field)?.path;
      const covered = path === undefined ? undefined : isSigned(path);
      if (covered !== undefined) signed[name] = covered;
      const seen = await evaluator.evaluate(compileExpression(name), scope);
      if (seen.ok && name !== expression) saw[name] = shown(seen.value);
      if (!seen.ok && result.ok) saw[name] = `not known (${seen.error})`;
    }
    parts.push({ expression, ...outcome, saw, signed });
  }
  return parts;
}

/** The parts between the logical operators. */
function leaves(expr: Expr | undefined): Expr[] {
  if (expr === undefined) return [];
  const { exprKind: kind } = expr;
  if (kind.case !== "callExpr" || !LOGICAL.has(kind.value.function)) return [expr];
  return kind.value.args.flatMap(leaves);
}

/** The longest chains of fields in a part: `payload.repository.name`, `headers["x-name"]`. */
function fields(expr: Expr | undefined): Expr[] {
  if (expr === undefined || isConstant(findPath(expr)?.path ?? [])) return [];
  const { exprKind: kind } = expr;
  switch (kind.case) {
    case "identExpr":
      return [expr];
    case "selectExpr":
      if (!isChain(kind.value.operand)) return fields(kind.value.operand);
      return [withoutTest(expr)];
    case "callExpr": {
      if (isChain(expr)) return [expr];
      const { target, args } = callOf(kind.value);
      return [...fields(target), ...args.flatMap(fields)];
    }
    case "comprehensionExpr":
      return fields(kind.value.iterRange);
    default:
      return [];
  }
}

/** `payload.x` of `has(payload.x)`, and any other chain as it is. */
function withoutTest(expr: Expr): Expr {
  const { exprKind: kind } = expr;
  if (kind.case !== "selectExpr" || !kind.value.testOnly) return expr;
  // With its id, the text of the macro would be printed in its place.
  return {
    ...expr,
    id: NO_ID,
    exprKind: { case: "selectExpr", value: { ...kind.value, testOnly: false } },
  };
}

/** A name with fields behind it, `.name` or `["name"]`. */
function isChain(expr: Expr | undefined): boolean {
  const kind = expr?.exprKind;
  switch (kind?.case) {
    case "selectExpr":
      return isChain(kind.value.operand);
    case "callExpr": {
      const [operand, index] = kind.value.args;
      return kind.value.function === "_[_]" && index?.exprKind.case === "constExpr" &&
        isChain(operand);
    }
    default:
      return kind?.case === "identExpr";
  }
}

function shown(value: unknown): string {
  const text = toJson(value) ?? "";
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
