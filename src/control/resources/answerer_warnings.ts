/**
 * Warnings about questions that nobody could answer, or too few: a group without a Person, more answers
 * than people, a diff of files that are no worktree. Pure.
 *
 * @module
 */

import { personsOf } from "../../auth/persons.ts";
import { groupIn, personIn } from "../../resources/approval.ts";
import { askOf, type Budgeted } from "../../resources/budget.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { displayName, keyOf, type Resource, type ResourceKey } from "../../resources/resource.ts";
import { allSteps } from "../../resources/step_list.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import type { WorkflowSpec } from "../../resources/workflow.ts";
import type { WorkspaceSpec } from "../../resources/workspace.ts";

/** What is wrong with the questions of `applied` resources, as `catalog` would be with them. */
export function answererWarnings(applied: readonly ResourceKey[], catalog: Catalog): string[] {
  const groups = groupsOf(catalog);
  return [
    ...applied.flatMap((key) => {
      const resource = catalog.find(key.kind, key.project, key.name);
      return resource === undefined ? [] : ofResource(resource, groups);
    }),
    ...diffWarnings(applied, catalog),
  ];
}

/** The Persons of each group. */
type Groups = ReadonlyMap<string, readonly string[]>;

function groupsOf(catalog: Catalog): Groups {
  const all = personsOf(catalog).flatMap(({ name, spec: { groups = [] } }) =>
    groups.map((group) => ({ group, name }))
  );
  const found = Map.groupBy(all, ({ group }) => group);
  return new Map([...found].map(([group, those]) => [group, those.map(({ name }) => name)]));
}

function ofResource(resource: Resource, groups: Groups): string[] {
  const what = displayName(resource);
  return asksOf(resource).flatMap(({ who, by, need = 1 }) => {
    const empty = by.flatMap((entry) => {
      const group = groupIn(entry);
      return group === undefined || groups.has(group) ? [] : entry;
    });
    const counted = countOf(by, groups);
    return [
      ...empty.map((entry) => `${what}: ${who} asks ${entry}, and no Person is in that group`),
      ...empty.length > 0 || counted >= need ? [] : [
        `${what}: ${who} needs ${need} people, and ${counted} could answer: add Persons to its ` +
        "groups",
      ],
    ];
  });
}

/** Each question of a resource, and who is asked. */
function asksOf({ kind, spec }: Resource): { who: string; by: readonly string[]; need?: number }[] {
  if (kind === "Workflow") {
    return allSteps(spec as WorkflowSpec).flatMap(({ id, approval }) =>
      approval === undefined ? [] : [{ who: `step "${id}"`, ...approval }]
    );
  }
  if (!BUDGETED.has(kind)) return [];
  const ask = askOf((spec as Budgeted).onBudget);
  return ask === undefined ? [] : [{ who: "onBudget", by: ask.by }];
}

/** The kinds that have budgets. */
const BUDGETED: ReadonlySet<string> = new Set(["Agent", "Trigger", "Project"]);

/** How many people could answer; without a limit where a forge says who may, or the socket is enough. */
function countOf(by: readonly string[], groups: Groups): number {
  const names = by.map((entry) => {
    const group = groupIn(entry);
    const person = personIn(entry);
    if (group !== undefined) return groups.get(group) ?? [];
    return person === undefined ? undefined : [person];
  });
  if (names.includes(undefined)) return Infinity;
  return new Set(names.flatMap((some) => some ?? [])).size;
}

function diffWarnings(applied: readonly ResourceKey[], catalog: Catalog): string[] {
  const meant = new Set(applied.map(keyOf));
  return (catalog.list("Trigger") as Resource<TriggerSpec>[]).flatMap((trigger) => {
    const { project, spec: { action } } = trigger;
    if (action === undefined) return [];
    const workflow = catalog.find<WorkflowSpec>("Workflow", project, action.workflow);
    const workspace = catalog.find<WorkspaceSpec>("Workspace", project, action.workspace);
    if (workflow === undefined || workspace === undefined) return [];
    if (workspace.spec.isolation === "worktree") return [];
    if (![trigger, workflow, workspace].some((one) => meant.has(keyOf(one)))) return [];
    return allSteps(workflow.spec).filter(({ approval }) => approval?.diff === true).map(({ id }) =>
      `${displayName(workflow)}: step "${id}" fails for ${
        displayName(trigger)
      }: "diff" shows what ` +
      `a worktree changes, and ${displayName(workspace)} has no "isolation: worktree"`
    );
  });
}
