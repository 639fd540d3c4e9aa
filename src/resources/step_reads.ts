/**
 * Expressions that read what another step may have left out: a template without its value fails its step.
 *
 * @module
 */

import { strictReads } from "../cel/analysis.ts";
import type { Path } from "../cel/values.ts";
import { type Finding, warningAt } from "./resource.ts";
import { stepExpressions } from "./step.ts";
import { ancestorsOf } from "./step_graph.ts";
import type { PlacedStep } from "./step_list.ts";

/**
 * Warns about each step under `finally` that reads a value which a failure of another step leaves
 * out: a step that was to report the failure would then fail itself.
 */
export function checkFinallyReads(
  last: readonly PlacedStep[],
  main: readonly PlacedStep[],
): Finding[] {
  const ids = new Set(main.map(({ step }) => step.id));
  return last.flatMap((placed) =>
    checkReads(placed, (id, part) => {
      if (!ids.has(id)) return undefined;
      return part === "outputs"
        ? `if step "${id}" did not get that far`
        : "if the task could not get its workspace";
    })
  );
}

/** Warns about each step of a `repeat` that reads a value which a step has only from the round before. */
export function checkRoundReads(main: readonly PlacedStep[]): Finding[] {
  const steps = main.map(({ step }) => step);
  return main.flatMap((placed) => {
    const { id: own, within } = placed.step;
    if (within === undefined) return [];
    const later = new Set(steps.filter((one) => one.within === within).map(({ id }) => id));
    const before = ancestorsOf(steps, own);
    return checkReads(
      placed,
      (id, part) =>
        part === "outputs" && later.has(id) && !before.has(id)
          ? `in the first round, before step "${id}" has run`
          : undefined,
    );
  });
}

/** Warns about the first value in each field that may be missing; `whyMissing` gives the words for it. */
function checkReads(
  { step, at: place }: PlacedStep,
  whyMissing: (id: string, part: string | undefined) => string | undefined,
): Finding[] {
  // A condition that fails skips its step, and one that is true has found its values.
  if (step.when !== undefined) return [];
  return stepExpressions(step, place).flatMap(({ at, source, trigger }) =>
    // one over an event that is waited for fails no step
    (trigger === undefined ? strictReadsOf(source) : []).flatMap(([variable, id = "", part]) => {
      const why = variable === "steps" ? whyMissing(id, part) : undefined;
      if (why === undefined) return [];
      const cure = `{{ default(${source}, "${part === "state" ? "skipped" : ""}") }}`;
      return [warningAt(
        at,
        `{{ ${source} }} has no value ${why}, and this step then fails: write ${cure}`,
      )];
    }).slice(0, 1)
  );
}

function strictReadsOf(source: string): readonly Path[] {
  try {
    return strictReads(source);
  } catch {
    return []; // reported where the template is checked
  }
}
