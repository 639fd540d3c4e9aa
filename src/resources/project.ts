/**
 * Kind `Project`: a namespace of the other kinds. It need not be declared.
 *
 * @module
 */

import Type from "typebox";
import { BUDGET_FIELDS, budgetReferences, checkBudget } from "./budget.ts";
import { type AnyKind, defineKind } from "./kind.ts";

/** Highest `maxParallel`: more tasks than any number of nodes runs at once. */
const MAX_PARALLEL = 100_000;

const ProjectSpec = Type.Object({
  description: Type.Optional(Type.String()),
  maxParallel: Type.Optional(Type.Integer({
    minimum: 1,
    maximum: MAX_PARALLEL,
    title: `how many tasks at once, from 1 to ${MAX_PARALLEL}`,
  })),
  ...BUDGET_FIELDS,
}, { additionalProperties: false });

/** `spec` of a Project. */
export type ProjectSpec = Type.Static<typeof ProjectSpec>;

/** The kind `Project`, a namespace. */
export const project: AnyKind = defineKind<ProjectSpec>("Project", {
  summary: "A namespace for the other kinds; it need not be declared before it is used.",
  spec: ProjectSpec,
  specOptional: true,
  checks: [checkBudget],
  references: budgetReferences,
  columns: [{ header: "DESCRIPTION", fit: "text", cell: ({ spec }) => spec.description ?? "" }],
});
