/**
 * The order of steps (contract 2): what each waits for, and whether all of them can ever run. Pure;
 * apply refuses a workflow by it, and tasks run by it.
 *
 * @module
 */

import { compileExpression, scopeOf } from "../cel/expression.ts";
import { compileTemplate } from "../cel/template.ts";
import { errorAt, type FieldPath, type Finding, warningAt } from "./resource.ts";
import type { Step } from "./step.ts";

/** The part of a step that says what it waits for. */
export type Waiting = Pick<Step, "id" | "needs">;

/** Ids of the steps that the step at `index` waits for: the one before it unless it says otherwise. */
export function needsOf(steps: readonly Waiting[], index: number): readonly string[] {
  const before = steps[index - 1];
  return steps[index]?.needs ?? (before === undefined ? [] : [before.id]);
}

/** Ids of every step that has to be over before `id` starts. */
export function ancestorsOf(steps: readonly Waiting[], id: string): ReadonlySet<string> {
  const found = new Set<string>();
  const open = [id];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const index = steps.findIndex((step) => step.id === next);
    for (const need of index === -1 ? [] : needsOf(steps, index)) {
      if (!found.has(need)) open.push(need);
      found.add(need);
    }
  }
  return found;
}

/** What is wrong with steps as a whole; `at` is where their list stands. */
export function checkGraph(steps: readonly Step[], at: FieldPath): Finding[] {
  const ids = new Set(steps.map((step) => step.id));
  const unknown = steps.flatMap((step, index) =>
    (step.needs ?? []).flatMap((need, i) =>
      ids.has(need) ? [] : [errorAt([...at, index, "needs", i], `No step is called "${need}" here`)]
    )
  );
  if (unknown.length > 0) return unknown;
  return [...checkCycles(steps, at), ...checkReachable(steps, at)];
}

function checkCycles(steps: readonly Step[], at: FieldPath): Finding[] {
  return steps.flatMap((step, index) => {
    if (!ancestorsOf(steps, step.id).has(step.id)) return [];
    const where = step.needs === undefined ? [...at, index] : [...at, index, "needs"];
    return [errorAt(where, `Step "${step.id}" waits for itself: ${cycleOf(steps, step.id)}`)];
  });
}

/** The shortest way from a step back to itself, as `a → b → a`. */
function cycleOf(steps: readonly Step[], id: string): string {
  const ways: string[][] = [[id]];
  const seen = new Set<string>();
  for (let way = ways.shift(); way !== undefined; way = ways.shift()) {
    const index = steps.findIndex((step) => step.id === way.at(-1));
    for (const need of index === -1 ? [] : needsOf(steps, index)) {
      if (need === id) return [...way, id].join(" → ");
      if (!seen.has(need)) ways.push([...way, need]);
      seen.add(need);
    }
  }
  return id;
}

/** A condition without variables that is not true never lets its step run. */
function checkReachable(steps: readonly Step[], at: FieldPath): Finding[] {
  return steps.flatMap((step, index) => {
    if (step.when === undefined || !isNeverTrue(step.when)) return [];
    return [errorAt(
      [...at, index, "when"],
      `Step "${step.id}" can never run: its condition is the same for every task and not true`,
    )];
  });
}

function isNeverTrue(source: string): boolean {
  try {
    const expression = compileExpression(source);
    if (expression.variables.size > 0 || expression.cost === "deadline") return false;
    const result = expression.run(scopeOf({}));
    return !result.ok || result.value !== true;
  } catch {
    return false; // what does not compile is reported elsewhere
  }
}

/**
 * What the expressions of a step say about other steps. Naming one that does not exist is an error;
 * naming one that need not be over by then is warned about.
 *
 * @param known ids of steps that may be named beside those of `steps`, as `finally` may name all
 */
export function checkStepNames(
  steps: readonly Step[],
  at: FieldPath,
  known: readonly string[] = [],
): Finding[] {
  const ids = new Set([...known, ...steps.map((step) => step.id)]);
  return steps.flatMap((step, index) => {
    const before = new Set([...known, ...ancestorsOf(steps, step.id)]);
    return expressionsOf(step).flatMap(([field, source]) =>
      namedSteps(source).flatMap((id): Finding[] => {
        const where = [...at, index, ...field];
        if (!ids.has(id)) return [errorAt(where, `No step is called "${id}" here`)];
        if (before.has(id)) return [];
        return [warningAt(where, `Step "${id}" need not be over by then: name it under "needs"`)];
      })
    );
  });
}

/** Every expression of a step with the field it stands in. */
function expressionsOf(step: Step): [field: FieldPath, source: string][] {
  const inTemplate = (field: FieldPath, text: string | undefined): [FieldPath, string][] =>
    holesOf(text ?? "").map((source) => [field, source]);
  return [
    ...(step.when === undefined ? [] : [[["when"], step.when] as [FieldPath, string]]),
    ...inTemplate(["prompt"], step.prompt),
    ...inTemplate(["workdir"], step.workdir),
    ...Object.entries(step.env ?? {}).flatMap(([name, value]) =>
      typeof value === "string" ? inTemplate(["env", name], value) : []
    ),
  ];
}

function holesOf(text: string): string[] {
  try {
    return compileTemplate(text).parts.flatMap((part) =>
      typeof part === "string" ? [] : [part.source]
    );
  } catch {
    return []; // reported where the template is checked
  }
}

function namedSteps(source: string): string[] {
  try {
    return compileExpression(source).paths.flatMap(([variable, id]) =>
      variable === "steps" && id !== undefined ? [id] : []
    );
  } catch {
    return [];
  }
}
