/**
 * What steps under `finally` read of the others: a failure leaves some of it out, and the one step
 * that was to tell of the failure would then fail itself.
 *
 * @module
 */

import { strictReads } from "../cel/analysis.ts";
import { type FieldPath, type Finding, warningAt } from "./resource.ts";
import type { Step } from "./step.ts";
import { expressionsOf } from "./step_graph.ts";

/** Warns where a step under `finally` reads what a failure of one of `steps` leaves out. */
export function checkFinallyReads(
  last: readonly Step[],
  at: FieldPath,
  steps: readonly Step[],
): Finding[] {
  const ids = new Set(steps.map(({ id }) => id));
  return last.flatMap((step, index) => {
    // A condition that fails skips its step, and one that is true has seen that all is there.
    if (step.when !== undefined) return [];
    return expressionsOf(step).flatMap(([field, source]) =>
      readsOf(source).flatMap(([variable, id = "", what]) => {
        if (variable !== "steps" || !ids.has(id)) return [];
        const why = what === "outputs"
          ? `if step "${id}" did not get that far`
          : "if the task could not get its workspace";
        const other = what === "state" ? "skipped" : "";
        const cure = `{{ default(${source}, "${other}") }}`;
        return [warningAt(
          [...at, index, ...field],
          `{{ ${source} }} has no value ${why}, and this step then fails: write ${cure}`,
        )];
      }).slice(0, 1)
    );
  });
}

function readsOf(source: string) {
  try {
    return strictReads(source);
  } catch {
    return []; // reported where the template is checked
  }
}
