/**
 * What can be told about an expression before it runs: the variables it names, and whether a hostile
 * payload could make it slow. Works on the parse tree only.
 *
 * @module
 */

import type { parse } from "@bufbuild/cel";

type Expr = NonNullable<ReturnType<typeof parse>["expr"]>;

/** What is known about an expression. */
export interface Analysis {
  /** Every free variable it names, comprehension variables left out. */
  readonly variables: ReadonlySet<string>;
  /**
   * `cheap`: time bounded by the length of expression and payload. `small`: cheap while the payload
   * is small (searching and pattern matching). `deadline`: loops, which can nest; needs a deadline.
   */
  readonly cost: "cheap" | "small" | "deadline";
}

/** Functions whose time can exceed the length of what they are given. */
const SEARCHES = new Set(["contains", "matches"]);

/** Looks through a parse tree. */
export function analyse(root: Expr | undefined): Analysis {
  const variables = new Set<string>();
  let loops = false;
  let searches = false;

  const visit = (expr: Expr | undefined, bound: ReadonlySet<string>): void => {
    if (expr === undefined) return;
    const node = expr.exprKind;
    switch (node.case) {
      case "identExpr":
        if (!bound.has(node.value.name)) variables.add(node.value.name);
        return;
      case "selectExpr":
        return visit(node.value.operand, bound);
      case "callExpr":
        if (SEARCHES.has(node.value.function)) searches = true;
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
  return { variables, cost: loops ? "deadline" : searches ? "small" : "cheap" };
}
