/**
 * Walks through a parse tree: what it names, calls and loops over, each told once.
 *
 * @module
 */

import type { parse } from "@bufbuild/cel";
import { ENVIRONMENT, isConstant } from "./environment.ts";
import type { Path } from "./references.ts";

/** An expression in a parse tree. */
export type Expr = NonNullable<ReturnType<typeof parse>["expr"]>;

type Node = Expr["exprKind"];

/** A call of a function or an operator. */
export interface Call {
  /** Its name with the receiver that belongs to it, as in `strings.quote`; operators as `_+_`. */
  readonly name: string;
  /** What it is a method of, if it is one. */
  readonly target: Expr | undefined;
  /** What stands between its parentheses. */
  readonly args: readonly Expr[];
}

/** A loop that a macro stands for. */
export type Loop = Extract<Node, { case: "comprehensionExpr" }>["value"];

/** Hears of what is in a tree. */
export interface Visitor {
  /**
   * A variable that no loop binds, with the constant fields selected from it; `expr` is its name.
   */
  variable?(path: Path, expr: Expr): void;
  /** A function or an operator is called. */
  call?(call: Call, expr: Expr): void;
  /** A message is made. */
  message?(type: string, expr: Expr): void;
  loop?(loop: Loop): void;
}

const NONE: ReadonlySet<string> = new Set();

/** Tells `visitor` what is in a tree, from its root on. */
export function walk(root: Expr | undefined, visitor: Visitor): void {
  const visit = (expr: Expr | undefined, bound: ReadonlySet<string>): void => {
    if (expr === undefined) return;
    const found = findPath(expr);
    if (found !== undefined) {
      const { path, root } = found;
      if (!bound.has(path[0]) && !isConstant(path)) visitor.variable?.(path, root);
      return;
    }
    const node = expr.exprKind;
    switch (node.case) {
      case "selectExpr":
        return visit(node.value.operand, bound);
      case "callExpr": {
        const call = callOf(node.value);
        visitor.call?.(call, expr);
        visit(call.target, bound);
        return call.args.forEach((arg) => visit(arg, bound));
      }
      case "listExpr":
        return node.value.elements.forEach((element) => visit(element, bound));
      case "structExpr":
        if (node.value.messageName !== "") visitor.message?.(node.value.messageName, expr);
        return node.value.entries.forEach((entry) => {
          if (entry.keyKind.case === "mapKey") visit(entry.keyKind.value, bound);
          visit(entry.value, bound);
        });
      case "comprehensionExpr": {
        visitor.loop?.(node.value);
        const { iterRange, accuInit, loopCondition, loopStep, result } = node.value;
        const { iterVar, iterVar2, accuVar } = node.value;
        const inside = new Set([...bound, iterVar, iterVar2, accuVar]);
        visit(iterRange, bound);
        visit(accuInit, bound);
        return [loopCondition, loopStep, result].forEach((part) => visit(part, inside));
      }
      default:
        return;
    }
  };
  visit(root, NONE);
}

/** The text that stands in the expression itself, if that is what it is. */
export function findText(expr: Expr | undefined): string | undefined {
  if (expr?.exprKind.case !== "constExpr") return undefined;
  const { constantKind } = expr.exprKind.value;
  return constantKind.case === "stringValue" ? constantKind.value : undefined;
}

/** What is called; `strings.quote(x)` is written like a method, and is none. */
export function callOf(
  { function: name, target, args }: Extract<Node, { case: "callExpr" }>["value"],
): Call {
  const receiver = findPath(target);
  const qualified = receiver === undefined ? name : [...receiver.path, name].join(".");
  const isFunction = receiver !== undefined && ENVIRONMENT.funcs.find(qualified) !== undefined;
  return isFunction ? { name: qualified, target: undefined, args } : { name, target, args };
}

/**
 * A variable, or fields of one: `payload.a`, `headers["x-event"]`; `undefined` for anything else.
 */
export function findPath(expr: Expr | undefined): { path: Path; root: Expr } | undefined {
  const fields: string[] = [];
  for (let inner = expr; inner !== undefined;) {
    const node = inner.exprKind;
    if (node.case === "identExpr") {
      return { path: [node.value.name, ...fields.reverse()], root: inner };
    }
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
