/**
 * Static analysis of an expression: which variables it reads, and whether a hostile payload could
 * make it slow. Works on the parse tree only.
 *
 * @module
 */

import type { Expr } from "./parse.ts";
import type { Path } from "./references.ts";
import { type Call, findText, walk } from "./walk.ts";

/** The result of an analysis. */
export interface Analysis {
  /** Every free variable it names, comprehension variables left out. */
  readonly variables: ReadonlySet<string>;
  /**
   * What it reads: each free variable with the constant fields selected from it. The longest come
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
 * Functions whose result can be longer than their arguments, or that can expand a pattern, and for
 * which calls.
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
