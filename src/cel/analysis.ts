/**
 * What can be told about an expression before it runs: what it looks at, and whether a hostile
 * payload could make it slow. Works on the parse tree only.
 *
 * @module
 */

import type { Path } from "./references.ts";
import { type Call, type Expr, findText, walk } from "./walk.ts";

/** What is known about an expression. */
export interface Analysis {
  /** Every free variable it names, comprehension variables left out. */
  readonly variables: ReadonlySet<string>;
  /**
   * What it looks at: each free variable with the constant fields selected from it. The longest
   * come first: `payload` holds whatever `payload.x` does.
   */
  readonly paths: readonly Path[];
  /**
   * `cheap`: time bounded by the length of expression and values. `small`: cheap while the values
   * are small (searching and pattern matching). `deadline`: loops, which can nest, patterns that
   * can unfold, and texts that can grow; needs a deadline.
   */
  readonly cost: "cheap" | "small" | "deadline";
}

/** Functions whose time can exceed the length of what they are given. */
const SEARCHES = new Set(
  ["contains", "matches", "indexOf", "lastIndexOf", "replace", "split", "charAt", "substring"],
);

/** When a function can give more text than it is given, or unfold it. */
const GROWS = new Map<string, (call: Call) => boolean>([
  ["matches", ({ args }) => !isPlainPattern(args.at(-1))],
  ["replace", ({ args: [sought, by] }) => !isNoLonger(findText(by), findText(sought))],
  ["join", ({ args: [separator] }) => separator !== undefined && findText(separator) !== ""],
  ["format", () => true],
  ["strings.quote", () => true],
]);

/** Looks through a parse tree. */
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

/**
 * Whether a pattern stands in the expression itself and repeats nothing a counted number of times.
 */
function isPlainPattern(expr: Expr | undefined): boolean {
  const pattern = findText(expr);
  return pattern !== undefined && !pattern.includes("{");
}

function isNoLonger(by: string | undefined, sought: string | undefined): boolean {
  return by !== undefined && sought !== undefined && by.length <= sought.length;
}
