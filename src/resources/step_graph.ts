/**
 * The order of steps: the dependencies of each, and whether all of them can run. Pure; a workflow
 * is checked with it on apply and run with it.
 *
 * @module
 */

import { compileExpression, scopeOf } from "../cel/expression.ts";
import { errorAt, type FieldPath, type Finding, warningAt } from "./resource.ts";
import { type Step, stepExpressions } from "./step.ts";

/** The id and the dependencies of a step. */
export type StepNeeds = Pick<Step, "id" | "needs">;

/**
 * Ids of the steps that the step at `index` waits for: those of `needs`, or else the step before
 * it.
 */
export function needsOf(steps: readonly StepNeeds[], index: number): readonly string[] {
  const before = steps[index - 1];
  return steps[index]?.needs ?? (before === undefined ? [] : [before.id]);
}

/** Ids of all steps that have to end before `id` starts. */
export function ancestorsOf(
  steps: readonly StepNeeds[],
  id: string,
  places = placesOf(steps),
): ReadonlySet<string> {
  const ancestors = new Set<string>();
  const open = [id];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const place = places.get(next);
    for (const need of place === undefined ? [] : needsOf(steps, place)) {
      if (!ancestors.has(need)) open.push(need);
      ancestors.add(need);
    }
  }
  return ancestors;
}

/** Position of each id; the first position of an id that occurs twice. */
function placesOf(steps: readonly StepNeeds[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [place, { id }] of steps.entries()) {
    if (!places.has(id)) places.set(id, place);
  }
  return places;
}

/** Most steps of a workflow, those under `finally` included. */
const MAX_STEPS = 1000;

/** Most names under all `needs` of a workflow. */
const MAX_NEEDS = 10_000;

/** Refuses a `spec` with more steps or dependencies than a task can schedule. */
export function checkSize(
  { steps, finally: last = [] }: { steps: readonly Step[]; finally?: readonly Step[] },
): Finding[] {
  const count = steps.length + last.length;
  if (count > MAX_STEPS) {
    const message = `A workflow has at most ${MAX_STEPS} steps, this one has ${count}: split it`;
    return [errorAt(["spec", "steps"], message)];
  }
  const needs = steps.reduce((sum, step) => sum + (step.needs?.length ?? 0), 0);
  if (needs <= MAX_NEEDS) return [];
  return [errorAt(
    ["spec", "steps"],
    `The steps of a workflow name at most ${MAX_NEEDS} others under "needs", these name ${needs}`,
  )];
}

/** Checks all steps together; `at` is the path of their list. */
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
  if (canAllRun(steps)) return [];
  const places = placesOf(steps);
  return steps.flatMap((step, index) => {
    const cycle = findCycle(steps, step.id, places);
    if (cycle === undefined) return [];
    const where = step.needs === undefined ? [...at, index] : [...at, index, "needs"];
    return [errorAt(where, `Step "${step.id}" waits for itself: ${shortened(cycle)}`)];
  });
}

/** Whether an order exists in which each step comes after its dependencies. */
function canAllRun(steps: readonly StepNeeds[]): boolean {
  const places = placesOf(steps);
  const open = steps.map((_, place) => needsOf(steps, place).length);
  const dependents = steps.map((): number[] => []);
  for (const place of steps.keys()) {
    for (const need of needsOf(steps, place)) dependents[places.get(need) ?? -1]?.push(place);
  }
  const ready = [...open.keys()].filter((place) => open[place] === 0);
  let run = 0;
  for (let next = ready.pop(); next !== undefined; next = ready.pop(), run++) {
    for (const place of dependents[next] ?? []) {
      const left = open[place] = (open[place] ?? 0) - 1;
      if (left === 0) ready.push(place);
    }
  }
  return run === steps.length;
}

/** The shortest cycle through a step, with the step at both ends. */
function findCycle(
  steps: readonly StepNeeds[],
  id: string,
  places: ReadonlyMap<string, number>,
): readonly string[] | undefined {
  const from = new Map<string, string>();
  const open = [id];
  for (const next of open) { // the list grows during the loop
    for (const need of needsOf(steps, places.get(next) ?? -1)) {
      if (need === id) return [id, ...wayBack(next, from), id];
      if (!from.has(need)) open.push(need);
      if (!from.has(need)) from.set(need, next);
    }
  }
  return undefined;
}

/** The steps on the path to `id`, without the first and with `id` last. */
function wayBack(id: string, from: ReadonlyMap<string, string>): string[] {
  const way: string[] = [];
  for (let at: string | undefined = id; at !== undefined; at = from.get(at)) way.unshift(at);
  return way.slice(1);
}

/** Most steps of a cycle that a message names. */
const MAX_NAMED = 10;

function shortened(way: readonly string[]): string {
  if (way.length <= MAX_NAMED) return way.join(" → ");
  const [first = "", last = ""] = [way.slice(0, MAX_NAMED - 1).join(" → "), way.at(-1)];
  return `${first} → … → ${last}`;
}

/** Refuses a condition without variables that is not true: its step could never run. */
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
    return false; // compile errors are reported elsewhere
  }
}

/**
 * Checks which steps the expressions of a step refer to. A step that does not exist is an error;
 * one that may not have ended by then is a warning.
 *
 * @param known ids of further steps that may be named, as `finally` may name all steps
 */
export function checkStepNames(
  steps: readonly Step[],
  at: FieldPath,
  known: readonly string[] = [],
): Finding[] {
  const always = new Set(known);
  const places = placesOf(steps);
  return steps.flatMap((step, index) => {
    let before: ReadonlySet<string> | undefined;
    return stepExpressions(step, [...at, index]).flatMap(({ at: field, source }) =>
      namedSteps(source).flatMap((id): Finding[] => {
        if (always.has(id)) return [];
        if (!places.has(id)) return [errorAt(field, `No step is called "${id}" here`)];
        before ??= ancestorsOf(steps, step.id, places);
        if (before.has(id)) return [];
        const cure = known.length > 0
          ? 'steps under "finally" run in their order, move it up'
          : 'name it under "needs"';
        return [warningAt(field, `Step "${id}" may not have ended by then: ${cure}`)];
      })
    );
  });
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
