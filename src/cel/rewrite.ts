/**
 * Changes in a tree before the library plans it: loops check the time, and values may be missing.
 *
 * @module
 */

import { callOf, type Expr, OPTIONAL, walk, withoutMark } from "./syntax_tree.ts";

/** Makes each loop of a tree check the time before each of its rounds. */
export function limitLoops(root: Expr | undefined): void {
  walk(root, {
    loop(loop) {
      const { loopCondition } = loop;
      if (loopCondition === undefined) return;
      loop.loopCondition = { ...loopCondition, exprKind: callNode("@in_time", [loopCondition]) };
    },
  });
}

/** The arguments of a call of `default` or `orValue`. */
type Fallback = [value: Expr, other: Expr];

type ConstantKind = Extract<Expr["exprKind"], { case: "constExpr" }>["value"]["constantKind"];

/**
 * Rewrites the parts of a tree that may be missing: `default(VALUE, OTHER)`, `VALUE.orValue(OTHER)`
 * and optional selection (`payload?.a.b`). A function of CEL never sees an argument that failed, so
 * no function can do what these do: they are rewritten to parts that the library has. Inside them, a
 * selection whose field is missing gives the value of `@absent` instead of an error, and whatever is
 * made of that is absent, too. A wrong type stays an error.
 */
export function rewriteAbsence(root: Expr): Expr {
  return new Rewriter().strict(root);
}

/** Rewrites one tree, in place below the node that is returned. */
class Rewriter {
  #count = 0;

  /** The tree of a value whose parts must exist. */
  strict(expr: Expr): Expr {
    const { exprKind: kind } = expr;
    const fallback = fallbackOf(expr);
    if (fallback !== undefined) return this.#orElse(fallback, (other) => this.strict(other));
    if (isOptional(expr)) {
      return this.#bind(
        this.soft(expr),
        (found) => call("_?_:_", [call("@given", [found]), found, nothing()]),
      );
    }
    if (kind.case === "selectExpr" && kind.value.testOnly && isOptional(kind.value.operand)) {
      return call("@given", [this.#get(kind.value.operand, text(kind.value.field))]);
    }
    return this.#inside(expr);
  }

  /** The tree of a value that is absent if one of its parts is. */
  soft(expr: Expr): Expr {
    const { exprKind: kind } = expr;
    const fallback = fallbackOf(expr);
    if (fallback !== undefined) return this.#orElse(fallback, (other) => this.soft(other));
    switch (kind.case) {
      case "identExpr": {
        const isUnbound = call("@not_strictly_false", [call("@false", [expr])]);
        return call("_?_:_", [isUnbound, call("@absent", []), expr]);
      }
      case "selectExpr":
        if (kind.value.testOnly) return this.strict(expr);
        return this.#get(kind.value.operand, text(withoutMark(kind.value.field)));
      case "callExpr": {
        const { function: name, args: [operand, key] } = kind.value;
        if (name === "_[_]" && key !== undefined) return this.#get(operand, key);
        if (LAZY.has(name)) return this.strict(expr);
        return this.#callWithAll(expr);
      }
      default:
        return this.strict(expr);
    }
  }

  /** The same node, with its parts rewritten. */
  #inside(expr: Expr): Expr {
    const { exprKind: { case: kind, value } } = expr;
    const strict = (part: Expr | undefined) => part === undefined ? undefined : this.strict(part);
    switch (kind) {
      case "selectExpr":
        value.operand = strict(value.operand);
        break;
      case "callExpr":
        value.target = strict(value.target);
        value.args = value.args.map((arg) => this.strict(arg));
        break;
      case "listExpr":
        value.elements = value.elements.map((element) => this.strict(element));
        break;
      case "structExpr":
        for (const entry of value.entries) {
          if (entry.keyKind.case === "mapKey") {
            entry.keyKind.value = this.strict(entry.keyKind.value);
          }
          entry.value = strict(entry.value);
        }
        break;
      case "comprehensionExpr":
        value.iterRange = strict(value.iterRange);
        value.accuInit = strict(value.accuInit);
        value.loopCondition = strict(value.loopCondition);
        value.loopStep = strict(value.loopStep);
        value.result = strict(value.result);
    }
    return expr;
  }

  /** The value if it is neither absent nor null, else `other`, rewritten with `rewrite`. */
  #orElse([value, other]: Fallback, rewrite: (other: Expr) => Expr): Expr {
    return this.#bind(
      this.soft(value),
      (found) => call("_?_:_", [call("@useful", [found]), found, rewrite(other)]),
    );
  }

  #get(operand: Expr | undefined, key: Expr): Expr {
    return call("@get", [operand === undefined ? nothing() : this.soft(operand), this.soft(key)]);
  }

  /** A call whose value is absent if one of its arguments is. */
  #callWithAll(expr: Expr): Expr {
    const { exprKind: kind } = expr;
    if (kind.case !== "callExpr") return expr;
    const { target, args } = callOf(kind.value);
    const names: Expr[] = [];
    const next = ([value, ...others]: readonly Expr[]): Expr => {
      if (value === undefined) {
        if (target !== undefined) kind.value.target = names.shift();
        kind.value.args = names;
        return expr;
      }
      return this.#bind(this.soft(value), (name) => {
        names.push(name);
        return call("_?_:_", [call("@given", [name]), next(others), call("@absent", [])]);
      });
    };
    return next(target === undefined ? args : [target, ...args]);
  }

  /**
   * Evaluates `value` once, and then the tree that `use` makes of its name: a loop without rounds.
   */
  #bind(value: Expr, use: (name: Expr) => Expr): Expr {
    const name = `@value${this.#count++}`;
    return node({
      case: "comprehensionExpr",
      value: {
        $typeName: "cel.expr.Expr.Comprehension",
        iterVar: "@none",
        iterVar2: "",
        iterRange: node({
          case: "listExpr",
          value: { $typeName: "cel.expr.Expr.CreateList", elements: [], optionalIndices: [] },
        }),
        accuVar: name,
        accuInit: value,
        loopCondition: nothing(),
        loopStep: nothing(),
        result: use(node({
          case: "identExpr",
          value: { $typeName: "cel.expr.Expr.Ident", name },
        })),
      },
    });
  }
}

/** Operators that do not evaluate all of their arguments. */
const LAZY: ReadonlySet<string> = new Set(["_&&_", "_||_", "_?_:_"]);

/** The value and the fallback of a call of `default` or `orValue`. */
export function fallbackOf({ exprKind: kind }: Expr): Fallback | undefined {
  if (kind.case !== "callExpr") return undefined;
  const { function: name, target, args } = kind.value;
  const [value, other, ...more] = target === undefined ? args : [target, ...args];
  if (name !== (target === undefined ? "default" : "orValue")) return undefined;
  return value === undefined || other === undefined || more.length > 0 ? undefined : [value, other];
}

/** Whether a chain of selections and calls of methods contains an optional selection. */
export function isOptional(expr: Expr | undefined): boolean {
  for (let inner = expr; inner !== undefined;) {
    const { exprKind: kind }: Expr = inner;
    if (kind.case === "selectExpr" && !kind.value.testOnly) {
      if (kind.value.field.startsWith(OPTIONAL)) return true;
      inner = kind.value.operand;
    } else if (kind.case === "callExpr" && fallbackOf(inner) === undefined) {
      inner = kind.value.function === "_[_]" ? kind.value.args[0] : kind.value.target;
    } else return false;
  }
  return false;
}

function node(exprKind: Expr["exprKind"]): Expr {
  return { $typeName: "cel.expr.Expr", id: 0n, exprKind };
}

function call(name: string, args: Expr[]): Expr {
  return node(callNode(name, args));
}

function callNode(name: string, args: Expr[]): Expr["exprKind"] {
  return {
    case: "callExpr",
    value: { $typeName: "cel.expr.Expr.Call", function: name, args },
  };
}

function constant(constantKind: ConstantKind): Expr {
  return node({ case: "constExpr", value: { $typeName: "cel.expr.Constant", constantKind } });
}

function text(value: string): Expr {
  return constant({ case: "stringValue", value });
}

function nothing(): Expr {
  return constant({ case: "nullValue", value: 0 });
}
