/**
 * Static analysis of an expression: its reads, and whether a hostile payload could make it slow.
 *
 * @module
 */

import { fallbackOf, isOptional } from "./rewrite.ts";
import {
  type Call,
  type Expr,
  findPath,
  findText,
  parseExpression,
  partsOf,
  walk,
} from "./syntax_tree.ts";
import type { Path } from "./values.ts";

/** The result of an analysis. */
export interface Analysis {
  /** Names of its free variables; a loop's own variables are not free. */
  readonly variables: ReadonlySet<string>;
  /**
   * Its reads: each free variable with the constant fields selected from it. The longest come
   * first: `payload` includes `payload.x`.
   */
  readonly paths: readonly Path[];
  /**
   * `cheap`: time bounded by the length of expression and values. `small`: cheap while the values
   * are small (searching and pattern matching). `deadline`: loops, which can nest, patterns that
   * can unfold, and texts that can grow; needs a deadline.
   */
  readonly cost: "cheap" | "small" | "deadline";
}

/** Functions whose time is not linear in their arguments. */
const SEARCHES = new Set(
  [
    "contains",
    "matches",
    "indexOf",
    "lastIndexOf",
    "replace",
    "split",
    "charAt",
    "substring",
    "fromJson",
  ],
);

/**
 * Functions whose result can be longer than their arguments, or that can expand a pattern; the
 * value says for which calls.
 */
const GROWS = new Map<string, (call: Call) => boolean>([
  ["matches", ({ args }) => !isPlainPattern(args.at(-1))],
  ["replace", ({ args: [sought, by] }) => !isNoLonger(findText(by), findText(sought))],
  ["join", ({ args: [separator] }) => separator !== undefined && findText(separator) !== ""],
  ["format", () => true],
  ["strings.quote", () => true],
]);

/** Analyses a parse tree. */
export function analyse(root: Expr | undefined): Analysis {
  const paths: Path[] = [];
  let deadline = false;
  let searches = false;
  walk(root, {
    variable: (path) => paths.push(path),
    call(call) {
      if (SEARCHES.has(call.name)) searches = true;
      if (GROWS.get(call.name)?.(call)) deadline = true;
    },
    loop: () => deadline = true,
  });
  return {
    variables: new Set(paths.map(([variable]) => variable)),
    paths: paths.toSorted((a, b) => b.length - a.length),
    cost: deadline ? "deadline" : searches ? "small" : "cheap",
  };
}

/** Whether a pattern is a literal in the expression without counted repetitions. */
function isPlainPattern(expr: Expr | undefined): boolean {
  const pattern = findText(expr);
  return pattern !== undefined && !pattern.includes("{");
}

function isNoLonger(by: string | undefined, sought: string | undefined): boolean {
  return by !== undefined && sought !== undefined && by.length <= sought.length;
}

/**
 * The variables and fields whose absence is an error of the expression: those that it reads outside
 * of `default`, `orValue` and `?.`. None where it asks with `has`, because its author has thought of
 * absence.
 */
export function strictReads(source: string): Path[] {
  const reads: Path[] = [];
  const open: (Expr | undefined)[] = [parseExpression(source).expr];
  while (open.length > 0) {
    const expr = open.pop();
    if (expr === undefined || isOptional(expr)) continue;
    if (expr.exprKind.case === "selectExpr" && expr.exprKind.value.testOnly) return [];
    const fallback = fallbackOf(expr);
    const path = findPath(expr)?.path;
    if (path !== undefined) reads.push(path);
    else open.push(...fallback === undefined ? partsOf(expr) : fallback.slice(1));
  }
  return reads;
}

/** `headers["x-name"]`, `headers['x-name']`, `headers.name`, the last two also optional. */
const HEADER = /\bheaders\s*(?:\[\??\s*(?:"([^"]+)"|'([^']+)')\s*\]|\.\??([A-Za-z_]\w*))/g;

/** Names of the headers that an expression reads by a constant name, each once. */
export function headersRead(source: string): string[] {
  const names = [...source.matchAll(HEADER)].map(([, ...named]) => named.find(Boolean) ?? "");
  return [...new Set(names)];
}
