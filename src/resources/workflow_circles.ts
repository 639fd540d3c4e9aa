/**
 * Workflows that start each other whatever happens: each task would start the next, until one has too many
 * above it. A workflow that starts itself is refused by itself (`child_workflow.ts`). Pure.
 *
 * @module
 */

import type { Catalog } from "./catalog.ts";
import { startsAlways } from "./child_workflow.ts";
import { displayName, type ResourceKey } from "./resource.ts";
import { allSteps } from "./step_list.ts";
import type { WorkflowSpec } from "./workflow.ts";

/** A step that starts a workflow. */
interface Start {
  readonly from: string;
  readonly step: string;
  readonly to: string;
}

/**
 * The circles through `applied` workflows, a sentence each, as `catalog` would be with them. Circles of
 * others do not concern this apply.
 */
export function circleErrors(applied: readonly ResourceKey[], catalog: Catalog): string[] {
  const errors = new Map<string, string>();
  for (const key of applied) {
    if (key.kind !== "Workflow") continue;
    const circle = circleFrom(key, catalog);
    if (circle === undefined) continue;
    const names = circle.map(({ from }) => from);
    const those = JSON.stringify([key.project, ...names.toSorted()]);
    const how = circle.map(({ from, step, to }) => `step "${step}" of "${from}" starts "${to}"`);
    if (errors.has(those)) continue;
    errors.set(
      those,
      `${displayName(key)}: it would start itself again and again: ${how.join(", ")}. ` +
        'Give one of these steps a "when"',
    );
  }
  return [...errors.values()];
}

/** The shortest way from a workflow back to itself, over others. */
function circleFrom({ project, name }: ResourceKey, catalog: Catalog): Start[] | undefined {
  const seen = new Set([name]);
  let ways: Start[][] = [[]];
  while (ways.length > 0) {
    const next: Start[][] = [];
    for (const way of ways) {
      const at = way.at(-1)?.to ?? name;
      for (const start of startsOf(at, catalog.find<WorkflowSpec>("Workflow", project, at)?.spec)) {
        if (start.to === name && way.length > 0) return [...way, start];
        if (seen.has(start.to)) continue;
        seen.add(start.to);
        next.push([...way, start]);
      }
    }
    ways = next;
  }
  return undefined;
}

function startsOf(from: string, spec: WorkflowSpec | undefined): Start[] {
  if (spec === undefined) return [];
  const steps = allSteps(spec);
  return steps.flatMap((step) =>
    step.workflow !== undefined && startsAlways(step, steps)
      ? [{ from, step: step.id, to: step.workflow }]
      : []
  );
}
