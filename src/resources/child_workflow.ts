/**
 * `workflow: NAME`: a step that starts a task of another workflow and waits for its end.
 *
 * @module
 */

import Type from "typebox";
import { WORKFLOW_VARIABLES } from "../cel/template.ts";
import { checkExpression, checkTemplate } from "./condition.ts";
import { type FieldExpression, templateExpressions } from "./expressions.ts";
import type { Reference } from "./kind.ts";
import { Name } from "./metadata.ts";
import { KEY_PATTERN } from "./names.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";
import { MAX_WAIT, MAX_WAIT_SECS } from "./wait_for.ts";
import { findDurationSecs } from "../base/duration.ts";

/** Most children of a step that run at once. */
const MAX_PARALLEL = 100;
/** How many that are if nothing is said. */
export const DEFAULT_PARALLEL = 4;
/** Most items of a list. */
export const MAX_ITEMS = 1000;

/** The variables of an item, beside those of every step. */
export const ITEM_VARIABLES = ["item", "index"];

const NAME = new RegExp(KEY_PATTERN);

/** A mapping of names to text templates. */
export const Texts = Type.Record(Type.String(), Type.String(), {
  title: 'a mapping of names to texts, such as {region: "{{ payload.region }}"}',
});

/** The fields of a step that starts a workflow, beside those of every step. */
export const CHILD_FIELDS = {
  workflow: Type.Optional(Name),
  with: Type.Optional(Texts),
  workspace: Type.Optional(Name),
  forEach: Type.Optional(Type.String({ minLength: 1, title: "a CEL expression, as text" })),
  maxParallel: Type.Optional(Type.Integer({
    minimum: 1,
    maximum: MAX_PARALLEL,
    title: `a number of tasks, 1 to ${MAX_PARALLEL}`,
  })),
};

/** A step that may start a workflow. */
interface ChildStep {
  readonly id: string;
  readonly workflow?: string | undefined;
  readonly with?: Readonly<Record<string, string>> | undefined;
  readonly workspace?: string | undefined;
  readonly forEach?: string | undefined;
  readonly maxParallel?: number | undefined;
  readonly timeout?: string | number | undefined;
  readonly when?: string | undefined;
  /** Id of the step in whose rounds it runs. */
  readonly within?: string | undefined;
}

/** Checks the texts at path `at`. */
export function checkTexts(
  texts: Readonly<Record<string, string>> | undefined,
  at: FieldPath,
  known: readonly string[] = WORKFLOW_VARIABLES,
): Finding[] {
  return Object.entries(texts ?? {}).flatMap(([name, text]) =>
    NAME.test(name) ? checkTemplate(text, [...at, name], known) : [errorAt(
      [...at, name],
      `"${name}" is no name: a letter, then letters, digits, _ or -; at most 63 characters`,
    )]
  );
}

/** The templates among texts at path `at`. */
export function textsExpressions(
  texts: Readonly<Record<string, string>> | undefined,
  at: FieldPath,
): FieldExpression[] {
  return Object.entries(texts ?? {}).flatMap(([name, text]) =>
    templateExpressions(text, [...at, name])
  );
}

/** Checks a step at path `at` that starts a workflow. */
export function checkChild(step: ChildStep, at: FieldPath): Finding[] {
  if (step.workflow === undefined) return [];
  const { timeout, forEach, maxParallel } = step;
  const known = forEach === undefined
    ? WORKFLOW_VARIABLES
    : [...WORKFLOW_VARIABLES, ...ITEM_VARIABLES];
  const alone = forEach !== undefined || maxParallel === undefined
    ? []
    : [errorAt([...at, "maxParallel"], '"maxParallel" is for a step with "forEach"')];
  const secs = timeout === undefined ? 1 : findDurationSecs(timeout) ?? 1;
  const tooLong = secs <= MAX_WAIT_SECS
    ? []
    : [errorAt([...at, "timeout"], `A wait takes 1s to ${MAX_WAIT}, found "${timeout}"`)];
  return [
    ...checkTexts(step.with, [...at, "with"], known),
    ...checkExpression(forEach, [...at, "forEach"], WORKFLOW_VARIABLES),
    ...alone,
    ...tooLong,
  ];
}

/** The resources that a step at path `at` needs for a task of its own. */
export function childReferences(
  { workflow, workspace }: ChildStep,
  at: FieldPath,
): Reference[] {
  const consequence = "the step fails until it is applied";
  return Object.entries({ Workflow: workflow, Workspace: workspace }).flatMap(([kind, name]) =>
    name === undefined
      ? []
      : [{ kind, name, path: [...at, kind === "Workflow" ? "workflow" : "workspace"], consequence }]
  );
}

/**
 * Whether a step of these starts its workflow whatever the task finds: nothing says when, and no list can
 * be empty.
 */
export function startsAlways(
  { when, forEach, within }: ChildStep,
  all: readonly ChildStep[],
): boolean {
  const around = within === undefined ? undefined : all.find(({ id }) => id === within);
  return [when, forEach, around?.when].every((one) => one === undefined);
}

/** Refuses a workflow that starts itself whatever happens. */
export function checkNotItself(
  name: string,
  placed: readonly { readonly step: ChildStep; readonly at: FieldPath }[],
): Finding[] {
  const all = placed.map(({ step }) => step);
  return placed.flatMap(({ step, at }) => {
    if (step.workflow !== name || !startsAlways(step, all)) return [];
    return [errorAt(
      [...at, "workflow"],
      `Workflow "${name}" would start itself again and again: give step "${step.id}" a "when"`,
    )];
  });
}
