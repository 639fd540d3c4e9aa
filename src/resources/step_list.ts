/**
 * The steps of a workflow in one list: behind a `repeat` stand its own steps, each with the id of that step
 * (`within`). So every step has one position, in lists, records and logs.
 *
 * @module
 */

import type { FieldPath } from "./resource.ts";
import type { FlatStep, InnerStep, Step } from "./step.ts";

/** A step in such a list, with its path in the manifest. */
export interface PlacedStep {
  readonly step: FlatStep;
  readonly at: FieldPath;
}

/** The steps of a list at path `at`, each `repeat` followed by its own ones. */
export function flatSteps(steps: readonly Step[], at: FieldPath): PlacedStep[] {
  return steps.flatMap(({ repeat, ...step }, index): PlacedStep[] => {
    if (repeat === undefined) return [{ step, at: [...at, index] }];
    const { steps: inner, ...rounds } = repeat;
    return [
      { step: { ...step, repeat: rounds }, at: [...at, index] },
      ...inner.map((one, place) => ({
        step: { ...one, within: step.id },
        at: [...at, index, "repeat", "steps", place],
      })),
    ];
  });
}

/** Every step of a plan, by position: those under `finally` last. */
export function plannedSteps<Step>(
  { steps, finally: last = [] }: {
    readonly steps: readonly Step[];
    readonly finally?: readonly Step[];
  },
): readonly Step[] {
  return [...steps, ...last];
}

/** Every step of a workflow: those of a `repeat` behind it, those under `finally` last. */
export function allSteps(
  { steps, finally: last = [] }: {
    readonly steps: readonly Step[];
    readonly finally?: readonly InnerStep[];
  },
): FlatStep[] {
  return [...flatSteps(steps, []), ...flatSteps(last, [])].map(({ step }) => step);
}
