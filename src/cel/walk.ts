/**
 * Walks through a parse tree and reports its names, calls and loops, each once.
 *
 * @module
 */

import { ENVIRONMENT, isConstant } from "./environment.ts";
import { type Expr, withoutMark } from "./parse.ts";
import type { Path } from "./references.ts";

type Node = Expr["exprKind"];

/** A call of a function or an operator. */
export interface Call {
  /** Its name, with a namespace as in `strings.quote`; operators as `_+_`. */
  readonly name: string;
  /** Receiver of a method; `undefined` for a function. */
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

/** A loop, as a macro expands to it. */
export type Loop = Extract<Node, { case: "comprehensionExpr" }>["value"];

/** Receives the parts of a tree. */
export interface Visitor {
  /**
   * Called for a variable that no loop binds, with the constant fields selected from it; `expr` is
   * its name.
   */
  variable?(path: Path, expr: Expr): void;
  /** Called for a function or an operator. */
  call?(call: Call, expr: Expr): void;
  message?(type: string, expr: Expr): void;
  loop?(loop: Loop): void;
}

const NONE: ReadonlySet<string> = new Set();

/** Reports the parts of a tree to `visitor`, from its root on. */
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

/** The text of a string literal; `undefined` for anything else. */
export function findText(expr: Expr | undefined): string | undefined {
  if (expr?.exprKind.case !== "constExpr") return undefined;
  const { constantKind } = expr.exprKind.value;
  return constantKind.case === "stringValue" ? constantKind.value : undefined;
}

/** The call in an expression; `strings.quote(x)` is parsed as a method, but is a function. */
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
  if (node.case === "selectExpr") return [node.value.operand, withoutMark(node.value.field)];
  if (node.case !== "callExpr" || node.value.function !== "_[_]") return [];
  const [operand, key] = node.value.args;
  return [operand, findText(key)];
}
