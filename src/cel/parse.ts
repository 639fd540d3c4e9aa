/**
 * Text to a parse tree, with optional selection, which the library's parser does not know:
 * `payload?.a`, also in CEL's own spelling `payload.?a`. Such a selection stands in the tree as one
 * of the field `?a`; `absence.ts` gives it its meaning.
 *
 * @module
 */

import { parse, unparse } from "@bufbuild/cel";

/** A parsed expression: its tree and the places of its nodes in the text. */
export type Parsed = ReturnType<typeof parse>;

/** An expression in a parse tree. */
export type Expr = NonNullable<Parsed["expr"]>;

/** First character of the field of an optional selection. */
export const OPTIONAL = "?";

/** The name of a field in the tree, without the mark of an optional selection. */
export function withoutMark(field: string): string {
  return field.startsWith(OPTIONAL) ? field.slice(OPTIONAL.length) : field;
}

/** Texts and comments, in which nothing is a selection, and optional selections. */
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
 * @throws {Error} of the library, with line and column, when the text is not CEL.
 */
export function parseExpression(source: string): Parsed {
  if (!source.includes(OPTIONAL)) return parse(source);
  const marks = new Set<number>(); // places of their dots
  const plain = source.replace(TOKENS, (token, ...rest) => {
    const { optional } = rest.at(-1) as { optional?: string };
    if (optional === undefined) return token;
    const offset = rest.at(-3) as number;
    marks.add(offset + optional.indexOf("."));
    return optional.replace(OPTIONAL, " "); // as long as before, so that columns stay right
  });
  const parsed = parse(plain);
  if (marks.size > 0) markSelections(parsed, marks);
  return parsed;
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

function markSelections({ expr, sourceInfo }: Parsed, marks: ReadonlySet<number>): void {
  const found = new Set<number>();
  // What a macro was written as is kept beside the tree, for those who print it.
  const open: (Expr | undefined)[] = [expr, ...Object.values(sourceInfo?.macroCalls ?? {})];
  while (open.length > 0) {
    const next = open.pop();
    if (next === undefined) continue;
    open.push(...partsOf(next));
    const { exprKind: { case: kind, value } } = next;
    const place = sourceInfo?.positions[String(next.id)] ?? -1;
    if (kind !== "selectExpr" || value.testOnly || !marks.has(place)) continue;
    found.add(place);
    value.field = OPTIONAL + withoutMark(value.field);
  }
  const [misplaced] = marks.difference(found);
  if (misplaced === undefined) return;
  throw new Error(`<input>:1:${misplaced + 1}: "?." selects a field and is not allowed here`);
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
      return [
        value.iterRange,
        value.accuInit,
        value.loopCondition,
        value.loopStep,
        value.result,
      ];
    default:
      return [];
  }
}
