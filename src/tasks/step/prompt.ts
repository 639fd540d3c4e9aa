/**
 * Prompts of agents: templates filled in, with all text from outside between marks that name its
 * origin and that the text itself cannot close. `docs/agents.md` says what the marks cannot
 * prevent. `prompt_delivery.ts` hands the prompt to the agent.
 *
 * @module
 */

import { markOutside, type Piece } from "../../base/outside_marks.ts";
import type { Evaluator } from "../../cel/evaluator.ts";
import type { Expression, Scope } from "../../cel/expression.ts";
import { fillTemplate, type Template, textOf } from "../../cel/template.ts";

/** The values and marks with which a prompt is filled in. */
export interface PromptSources {
  /** The variables; `goal` among them is the filled-in text. */
  readonly scope: Scope;
  readonly evaluator: Evaluator;
  /** The goal of the task: text from outside in it gets marks of its own. */
  readonly goal?: Template;
  /** What follows the prompt. */
  readonly more?: readonly Piece[];
  /** Makes a word that cannot be guessed, so that text from outside cannot contain it. */
  readonly newWord: () => string;
}

/**
 * The text of a prompt.
 *
 * @throws {AppError} `invalid`, naming the expression, when one of them has no value.
 */
export async function renderPrompt(template: Template, sources: PromptSources): Promise<string> {
  const pieces = await piecesOf(template, sources);
  return markOutside([...pieces, ...sources.more ?? []], sources.newWord);
}

/** Whether the value of an expression comes, or may come, from outside. */
export function looksOutside(expression: Expression, goal: Template | undefined): boolean {
  return expression.paths.some(([variable, , field]) => {
    if (variable === "steps") return !OUR_FIELDS.has(field ?? "");
    if (variable === "goal") return goal !== undefined && goalLooksOutside(goal);
    return OUTSIDE.has(variable) || variable.startsWith("payload_");
  });
}

/** Variables whose values come, or may come, from the sender of the event. */
const OUTSIDE: ReadonlySet<string> = new Set([
  "payload",
  "headers",
  "query",
  "remote",
  "signed",
  "unsigned",
  "inputs",
  "conversation",
]);

/** Fields of a step that svc sets itself. */
const OUR_FIELDS: ReadonlySet<string> = new Set(["state", "exit_code", "failure"]);

function goalLooksOutside(goal: Template): boolean {
  return goal.parts.some((part) => typeof part !== "string" && looksOutside(part, undefined));
}

async function piecesOf(template: Template, sources: PromptSources): Promise<Piece[]> {
  const { goal, ...inGoal } = sources;
  const pieces: Piece[] = [];
  for (const part of await fillTemplate(template, sources.scope, sources.evaluator)) {
    if ("text" in part) {
      pieces.push(part);
    } else if (part.from.source === "goal" && goal !== undefined) {
      pieces.push(...await piecesOf(goal, inGoal));
    } else {
      const text = textOf(part.value);
      const outside = isTextual(part.value) && looksOutside(part.from, goal);
      pieces.push(outside ? { text, origin: part.from.source } : { text });
    }
  }
  return pieces;
}

/** Whether a value is text, or contains text: numbers and booleans cannot instruct an agent. */
function isTextual(value: unknown): boolean {
  return typeof value === "string" || (typeof value === "object" && value !== null);
}
