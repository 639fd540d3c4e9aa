/**
 * Text templates: `{{ CEL }}` inside text. Allowed in prompts, goals, `env` values and `workdir`;
 * never in `run` and `command`, which the shell gets unchanged.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { toJson } from "../base/json.ts";
import type { Evaluator } from "./evaluator.ts";
import { compileExpression, type Expression, type Scope } from "./expression.ts";

/** Text with expressions in it. */
export interface Template {
  readonly parts: readonly (string | Expression)[];
}

const PLACEHOLDER = /\{\{([\s\S]*?)\}\}/g;

/** Variables of a trigger's conditions and keys, `payload_<field>` aside. */
export const EVENT_VARIABLES: readonly string[] = [
  "payload",
  "headers",
  "query",
  "method",
  "remote",
  "signed",
  "unsigned",
  "trigger",
  "delivery",
];

/** Variables of a goal, which is filled in before the first step runs, `payload_<field>` aside. */
export const GOAL_VARIABLES: readonly string[] = [...EVENT_VARIABLES, "task"];

/** Variables of expressions in a workflow, `payload_<field>` aside. */
export const WORKFLOW_VARIABLES: readonly string[] = [
  ...GOAL_VARIABLES,
  "steps",
  "goal",
  "inputs",
  "conversation",
];

/** Quoted text, which names no variable in CEL or in other languages. */
const QUOTED = /"[^"]*"|'[^']*'/g;

const OUR_VARIABLE = new RegExp(
  `(?<![.\\w$])(payload_\\w+|${WORKFLOW_VARIABLES.join("|")})(?!\\w)`,
);

/**
 * Compiles a template.
 *
 * @throws {AppError} `invalid` when an expression in it does not compile.
 */
export function compileTemplate(text: string): Template {
  const parts: (string | Expression)[] = [];
  let at = 0;
  for (const hole of text.matchAll(PLACEHOLDER)) {
    if (hole.index > at) parts.push(text.slice(at, hole.index));
    parts.push(compileExpression((hole[1] ?? "").trim()));
    at = hole.index + hole[0].length;
  }
  if (at < text.length) parts.push(text.slice(at));
  return { parts };
}

/** A part of a filled template: literal text, or the value of an expression. */
export type FilledPart =
  | { readonly text: string }
  | { readonly from: Expression; readonly value: unknown };

/**
 * The parts of a template over `scope`, in order.
 *
 * @throws {AppError} `invalid`, naming the expression, when one of them has no value.
 */
export async function fillTemplate(
  template: Template,
  scope: Scope,
  evaluator: Evaluator,
): Promise<FilledPart[]> {
  const filled: FilledPart[] = [];
  for (const part of template.parts) {
    if (typeof part === "string") {
      filled.push({ text: part });
      continue;
    }
    const result = await evaluator.evaluate(part, scope);
    if (!result.ok) {
      throw new AppError("invalid", `{{ ${part.source} }} has no value: ${result.error}`);
    }
    filled.push({ from: part, value: result.value });
  }
  return filled;
}

/**
 * The text of a template over `scope`.
 *
 * @throws {AppError} `invalid`, naming the expression, when one of them has no value.
 */
export async function renderTemplate(
  template: Template,
  scope: Scope,
  evaluator: Evaluator,
): Promise<string> {
  const filled = await fillTemplate(template, scope, evaluator);
  return filled.map((part) => "text" in part ? part.text : textOf(part.value)).join("");
}

/**
 * The first `{{ … }}` in a shell line that names a variable of svc, because it would never be
 * filled in.
 */
export function findUnsafePlaceholder(shellLine: string): string | undefined {
  for (const hole of shellLine.matchAll(PLACEHOLDER)) {
    if (OUR_VARIABLE.test((hole[1] ?? "").replace(QUOTED, "' '"))) return hole[0];
  }
  return undefined;
}

/** The text of a value: a text itself, null as nothing, anything else as JSON. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  return toJson(value);
}
