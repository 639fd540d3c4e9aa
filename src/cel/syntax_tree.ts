/**
 * Parse trees: from a text, back to one, and what they contain. The parser of the library does not
 * know optional selection, `payload?.a` or in CEL's own spelling `payload.?a`. Such a selection
 * stands in the tree as one of the field `?a`; `rewrite.ts` gives it its meaning.
 *
 * @module
 */

import { parse, unparse } from "@bufbuild/cel";
import { ENVIRONMENT, isConstant } from "./environment.ts";
import { syntaxErrorAt, toSyntaxError } from "./errors.ts";
import type { Path } from "./values.ts";

/** A parsed expression: its tree and the places of its nodes in the text. */
export type Parsed = ReturnType<typeof parse>;

/** An expression in a parse tree. */
export type Expr = NonNullable<Parsed["expr"]>;

type Node = Expr["exprKind"];

/** First character of the field of an optional selection. */
export const OPTIONAL = "?";

/** The name of a field in the tree, without the mark of an optional selection. */
export function withoutMark(field: string): string {
  return field.startsWith(OPTIONAL) ? field.slice(OPTIONAL.length) : field;
}

/** Tokens: texts and comments, in which `?.` is no selection, and optional selections. */
const TOKENS = new RegExp(
  [
    /\b(?:[rR][bB]?|[bB][rR])(?:"""[^]*?"""|'''[^]*?'''|"[^"\n]*"|'[^'\n]*')/,
    /"""(?:\\[^]|[^\\])*?"""|'''(?:\\[^]|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/,
    /\/\/[^\n]*/,
    /(?<optional>\?\.|\.\?)(?=[A-Za-z_])/,
  ].map(({ source }) => source).join("|"),
  "g",
);

/**
 * Parses an expression.
 *
 * @throws {AppError} `invalid`, with line and column, when the text is not CEL; without them when it
 * is nested too deeply.
 */
export function parseExpression(source: string): Parsed {
  if (!source.includes(OPTIONAL)) return parsePlain(source, source);
  const marks = new Set<number>(); // places of their dots
  const plain = source.replace(TOKENS, (token, ...rest) => {
    const { optional } = rest.at(-1) as { optional?: string };
    if (optional === undefined) return token;
    const offset = rest.at(-3) as number;
    marks.add(offset + optional.indexOf("."));
    return optional.replace(OPTIONAL, " "); // as long as before, so that columns stay right
  });
  const parsed = parsePlain(plain, source);
  if (marks.size > 0) markSelections(parsed, marks, source);
  return parsed;
}

function parsePlain(plain: string, source: string): Parsed {
  try {
    return parse(plain);
  } catch (error) {
    throw toSyntaxError(source, error);
  }
}

/**
 * A tree of `source`, or a part of it, as text again, with `?.` or `.?` as `source` spells its first
 * optional selection.
 */
export function toText(part: Parsed, source: string): string {
  const text = unparse(part);
  if (!text.includes(OPTIONAL)) return text;
  const tokens = source.matchAll(TOKENS);
  const spelling = tokens.find(({ groups }) => groups?.["optional"] !== undefined)?.[0];
  return text.replace(TOKENS, (token, ...rest) => {
    const { optional } = rest.at(-1) as { optional?: string };
    return optional === undefined ? token : spelling ?? token;
  });
}

/** Marks the selections whose dots are at `marks` as optional. */
function markSelections(
  { expr, sourceInfo }: Parsed,
  marks: ReadonlySet<number>,
  source: string,
): void {
  const marked = new Set<number>();
  // The library keeps each macro as it was written beside the tree, to print it.
  const open: (Expr | undefined)[] = [expr, ...Object.values(sourceInfo?.macroCalls ?? {})];
  while (open.length > 0) {
    const next = open.pop();
    if (next === undefined) continue;
    open.push(...partsOf(next));
    const { exprKind: { case: kind, value } } = next;
    const place = sourceInfo?.positions[String(next.id)] ?? -1;
    if (kind !== "selectExpr" || value.testOnly || !marks.has(place)) continue;
    marked.add(place);
    value.field = OPTIONAL + withoutMark(value.field);
  }
  const [misplaced] = marks.difference(marked);
  if (misplaced === undefined) return;
  throw syntaxErrorAt(source, misplaced, '"?." selects a field and is not allowed here');
}

/** The expressions directly inside another. */
export function partsOf({ exprKind: { case: kind, value } }: Expr): (Expr | undefined)[] {
  switch (kind) {
    case "selectExpr":
      return [value.operand];
    case "callExpr":
      return [value.target, ...value.args];
    case "listExpr":
      return value.elements;
    case "structExpr":
      return value.entries.flatMap((entry) => [
        entry.keyKind.case === "mapKey" ? entry.keyKind.value : undefined,
        entry.value,
      ]);
    case "comprehensionExpr":
      return [value.iterRange, value.accuInit, value.loopCondition, value.loopStep, value.result];
    default:
      return [];
  }
}

/** A call of a function or an operator. */
export interface Call {
  /** Its name, with a namespace as in `strings.quote`; operators as `_+_`. */
  readonly name: string;
  /** Receiver of a method; `undefined` for a function. */
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

type CallNode = Extract<Node, { case: "callExpr" }>["value"];

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
    const selection = findPath(expr);
    if (selection !== undefined) {
      const { path, root } = selection;
      if (!bound.has(path[0]) && !isConstant(path)) visitor.variable?.(path, root);
      return;
    }
    const node = expr.exprKind;
    switch (node.case) {
      case "callExpr": {
        const call = callOf(node.value);
        visitor.call?.(call, expr);
        visit(call.target, bound);
        for (const arg of call.args) visit(arg, bound);
        return;
      }
      case "comprehensionExpr": {
        visitor.loop?.(node.value);
        const { iterRange, accuInit, loopCondition, loopStep, result } = node.value;
        const { iterVar, iterVar2, accuVar } = node.value;
        const inside = new Set([...bound, iterVar, iterVar2, accuVar]);
        for (const part of [iterRange, accuInit]) visit(part, bound);
        for (const part of [loopCondition, loopStep, result]) visit(part, inside);
        return;
      }
      case "structExpr":
        if (node.value.messageName !== "") visitor.message?.(node.value.messageName, expr);
    }
    for (const part of partsOf(expr)) visit(part, bound);
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
export function callOf({ function: name, target, args }: CallNode): Call {
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
