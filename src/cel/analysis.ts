/**
 * What can be told about an expression before it runs: what it looks at, and whether a hostile
 * payload could make it slow. Works on the parse tree only.
 *
 * @module
 */

import type { parse } from "@bufbuild/cel";
import type { Path } from "./references.ts";

type Expr = NonNullable<ReturnType<typeof parse>["expr"]>;
type Node = Expr["exprKind"];

/** What is known about an expression. */
export interface Analysis {
  /** Every free variable it names, comprehension variables left out. */
  readonly variables: ReadonlySet<string>;
  /**
   * What it looks at: each free variable with the constant fields selected from it. The longest come
   * first: `payload` holds whatever `payload.x` does.
   */
  readonly paths: readonly Path[];
  /**
   * `cheap`: time bounded by the length of expression and values. `small`: cheap while the values
   * are small (searching and pattern matching). `deadline`: loops, which can nest, and patterns that
   * can unfold; needs a deadline.
   */
  readonly cost: "cheap" | "small" | "deadline";
}

/** Functions whose time can exceed the length of what they are given. */
const SEARCHES = new Set(["contains", "matches"]);

/** Looks through a parse tree. */
export function analyse(root: Expr | undefined): Analysis {
  const paths: Path[] = [];
  let loops = false;
  let searches = false;

  const visit = (expr: Expr | undefined, bound: ReadonlySet<string>): void => {
    if (expr === undefined) return;
    const path = findPath(expr);
    if (path !== undefined) {
      if (!bound.has(path[0])) paths.push(path);
      return;
    }
    const node = expr.exprKind;
    switch (node.case) {
      case "selectExpr":
        return visit(node.value.operand, bound);
      case "callExpr":
        if (SEARCHES.has(node.value.function)) searches = true;
        if (node.value.function === "matches" && !isPlainPattern(node.value.args.at(-1))) {
          loops = true;
        }
        visit(node.value.target, bound);
        return node.value.args.forEach((arg) => visit(arg, bound));
      case "listExpr":
        return node.value.elements.forEach((element) => visit(element, bound));
      case "structExpr":
        return node.value.entries.forEach((entry) => {
          if (entry.keyKind.case === "mapKey") visit(entry.keyKind.value, bound);
          visit(entry.value, bound);
        });
      case "comprehensionExpr": {
        loops = true;
        const { iterRange, accuInit, loopCondition, loopStep, result } = node.value;
        const inside = new Set([
          ...bound,
          node.value.iterVar,
          node.value.iterVar2,
          node.value.accuVar,
        ]);
        visit(iterRange, bound);
        visit(accuInit, bound);
        return [loopCondition, loopStep, result].forEach((part) => visit(part, inside));
      }
      default:
        return;
    }
  };

  visit(root, new Set());
  return {
    variables: new Set(paths.map(([variable]) => variable)),
    paths: paths.toSorted((a, b) => b.length - a.length),
    cost: loops ? "deadline" : searches ? "small" : "cheap",
  };
}

/** A variable, or fields of one: `payload.a`, `headers["x-event"]`; `undefined` for anything else. */
function findPath(expr: Expr | undefined): Path | undefined {
  const fields: string[] = [];
  for (let inner = expr; inner !== undefined;) {
    const node = inner.exprKind;
    if (node.case === "identExpr") return [node.value.name, ...fields.reverse()];
    const [operand, field] = findSelection(node);
    if (field === undefined) return undefined;
    fields.push(field);
    inner = operand;
  }
  return undefined;
}

function findSelection(node: Node): [operand?: Expr | undefined, field?: string | undefined] {
  if (node.case === "selectExpr") return [node.value.operand, node.value.field];
  if (node.case !== "callExpr" || node.value.function !== "_[_]") return [];
  const [operand, key] = node.value.args;
  return [operand, findText(key)];
}

/** Whether a pattern stands in the expression itself and repeats nothing a counted number of times. */
function isPlainPattern(expr: Expr | undefined): boolean {
  const pattern = findText(expr);
  return pattern !== undefined && !pattern.includes("{");
}

function findText(expr: Expr | undefined): string | undefined {
  if (expr?.exprKind.case !== "constExpr") return undefined;
  const { constantKind } = expr.exprKind.value;
  return constantKind.case === "stringValue" ? constantKind.value : undefined;
}
