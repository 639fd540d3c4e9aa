/**
 * The order of steps: the dependencies of each, and whether all of them can run. Pure; a workflow
 * is checked with it on apply and run with it.
 *
 * @module
 */

import { compileExpression, scopeOf } from "../cel/expression.ts";
import { errorAt, type FieldPath, type Finding, warningAt } from "./resource.ts";
import { type FlatStep, stepExpressions } from "./step.ts";
import type { PlacedStep } from "./step_list.ts";

/** The id and the dependencies of a step. */
export type StepNeeds = Pick<FlatStep, "id" | "needs" | "within">;

/**
 * Ids of the steps that the step at `index` waits for: those of `needs`, or else the step before it,
 * among those of its `repeat` or those of none. The first step of a `repeat` waits for none, but runs only
 * while that is in a round.
 */
export function needsOf(steps: readonly StepNeeds[], index: number): readonly string[] {
  const { needs, within } = steps[index] ?? {};
  const before = steps[index - 1];
  if (needs !== undefined) return needs;
  if (before === undefined || before.id === within) return [];
  return [before.within === within ? before.id : before.within ?? before.id];
}

/** The places of the steps of the `repeat` at `place`; empty for any other step. */
export function innerPlaces(steps: readonly StepNeeds[], place: number): readonly number[] {
  const id = steps[place]?.id;
  const places: number[] = [];
  for (let at = place + 1; id !== undefined && steps[at]?.within === id; at++) places.push(at);
  return places;
}

/** Ids of all steps that have to end before `id` starts. */
export function ancestorsOf(
  steps: readonly StepNeeds[],
  id: string,
  places = placesOf(steps),
): ReadonlySet<string> {
  const ancestors = new Set<string>();
  const open = [id];
  const add = (need: string) => {
    if (!ancestors.has(need)) open.push(need);
    ancestors.add(need);
  };
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const place = places.get(next);
    if (place === undefined) continue;
    needsOf(steps, place).forEach(add);
    const block = places.get(steps[place]?.within ?? "");
    if (block !== undefined) needsOf(steps, block).forEach(add);
    if (next !== id) innerIds(steps, place).forEach(add);
  }
  return ancestors;
}

const innerIds = (steps: readonly StepNeeds[], place: number) =>
  innerPlaces(steps, place).flatMap((at) => steps[at]?.id ?? []);

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

/** Refuses more steps or dependencies than a task can schedule. */
export function checkSize(all: readonly StepNeeds[]): Finding[] {
  const count = all.length;
  if (count > MAX_STEPS) {
    const message = `A workflow has at most ${MAX_STEPS} steps, this one has ${count}: split it`;
    return [errorAt(["spec", "steps"], message)];
  }
  const needs = all.reduce((sum, step) => sum + (step.needs?.length ?? 0), 0);
  if (needs <= MAX_NEEDS) return [];
  return [errorAt(
    ["spec", "steps"],
    `The steps of a workflow name at most ${MAX_NEEDS} others under "needs", these name ${needs}`,
  )];
}

/** Checks all steps but those under `finally` together. */
export function checkGraph(placed: readonly PlacedStep[]): Finding[] {
  const steps = placed.map(({ step }) => step);
  const places = placesOf(steps);
  const unknown = placed.flatMap(({ step, at }) =>
    (step.needs ?? []).flatMap((need, i) => {
      const needed = steps[places.get(need) ?? -1];
      const why = needed === undefined
        ? `No step is called "${need}" here`
        : whyApart(step, needed);
      return why === undefined ? [] : [errorAt([...at, "needs", i], why)];
    })
  );
  if (unknown.length > 0) return unknown;
  return [...checkCycles(placed, places), ...checkReachable(placed)];
}

/** Why a step cannot need another one; `undefined` if it can: both are steps of one `repeat`, or of none. */
function whyApart(step: StepNeeds, needed: StepNeeds): string | undefined {
  if (step.within === needed.within) return undefined;
  if (step.within === undefined) {
    return `Step "${needed.id}" is one of the "repeat" of "${needed.within}": need "${needed.within}"`;
  }
  return `Step "${needed.id}" is none of this "repeat": name it under "needs" of "${step.within}"`;
}

function checkCycles(
  placed: readonly PlacedStep[],
  places: ReadonlyMap<string, number>,
): Finding[] {
  const steps = placed.map(({ step }) => step);
  if (canAllRun(steps)) return [];
  return placed.flatMap(({ step, at }) => {
    const cycle = findCycle(steps, step.id, places);
    if (cycle === undefined) return [];
    const where = step.needs === undefined ? at : [...at, "needs"];
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
function checkReachable(placed: readonly PlacedStep[]): Finding[] {
  return placed.flatMap(({ step, at }) => {
    if (step.when === undefined || !isNeverTrue(step.when)) return [];
    return [errorAt(
      [...at, "when"],
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
 * Checks which steps the expressions of steps refer to. A step that does not exist is an error; one that
 * may not have ended by then is a warning.
 *
 * @param known ids of further steps that may be named, as `finally` may name all steps
 */
export function checkStepNames(
  placed: readonly PlacedStep[],
  known: readonly string[] = [],
): Finding[] {
  const steps = placed.map(({ step }) => step);
  const always = new Set(known);
  const places = placesOf(steps);
  return placed.flatMap(({ step, at }, place) => {
    let before: ReadonlySet<string> | undefined;
    const inRounds = new Set(step.repeat === undefined ? [] : innerIds(steps, place));
    return stepExpressions(step, at).flatMap(({ at: field, source }) =>
      namedSteps(source).flatMap((id): Finding[] => {
        if (always.has(id)) return [];
        const named = steps[places.get(id) ?? -1];
        if (named === undefined) return [errorAt(field, `No step is called "${id}" here`)];
        before ??= ancestorsOf(steps, step.id, places);
        if (before.has(id) || isInRound(step, named)) return [];
        if (isUntil(field, at) && (id === step.id || inRounds.has(id))) return [];
        const cure = known.length > 0
          ? 'steps under "finally" run in their order, move it up'
          : 'name it under "needs"';
        return [warningAt(field, `Step "${id}" may not have ended by then: ${cure}`)];
      })
    );
  });
}

/** Whether a step can read another one as it was in the round before: or the `repeat` that has it. */
const isInRound = ({ within }: StepNeeds, named: StepNeeds) =>
  within !== undefined && (named.within === within || named.id === within);

/** Whether a field of the step at path `at` is evaluated after a round of its own. */
const isUntil = (field: FieldPath, at: FieldPath) =>
  field[at.length] === "repeat" && field[at.length + 1] === "until";

/** Ids of the steps that an expression reads; none of one that does not compile. */
export function namedSteps(source: string): string[] {
  try {
    return compileExpression(source).paths.flatMap(([variable, id]) =>
      variable === "steps" && id !== undefined ? [id] : []
    );
  } catch {
    return [];
  }
}
