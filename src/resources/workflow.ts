/**
 * Kind `Workflow` (contract 2): the steps a task runs, in order.
 *
 * @module
 */

import Type from "typebox";
import { DURATION_PATTERN, findDurationSecs } from "../base/duration.ts";
import { findUnusableHole } from "../cel/template.ts";
import { checkEnv, checkTemplate, Env, envReferences } from "./env.ts";
import { type AnyKind, defineKind, type Reference } from "./kind.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

/** A length of time in a manifest: seconds, or text such as `"10m"`. */
const Duration = Type.Union([
  Type.Integer({ minimum: 1 }),
  Type.String({ pattern: DURATION_PATTERN }),
], { title: 'a duration: whole seconds, or text such as "10m" or "1h30m"' });

/** Names of steps: usable in CEL as `steps.<id>`. */
const StepId = Type.String({
  pattern: "^[A-Za-z_][A-Za-z0-9_-]{0,62}$",
  title: "a step id (a letter, then letters, digits, _ or -; at most 63 characters)",
});

const StepSchema = Type.Object({
  id: StepId,
  run: Type.String({ minLength: 1, title: "a shell line" }),
  env: Type.Optional(Env),
  timeout: Type.Optional(Duration),
  workdir: Type.Optional(Type.String({ minLength: 1 })),
}, { additionalProperties: false });

/** One step of a workflow. */
export type Step = Type.Static<typeof StepSchema>;

/** Schema of `spec`. */
const WorkflowSpec = Type.Object({
  steps: Type.Array(StepSchema, { minItems: 1, title: "a list of at least one step" }),
  env: Type.Optional(Env),
  timeout: Type.Optional(Duration),
}, { additionalProperties: false });

/** `spec` of a Workflow. */
export type WorkflowSpec = Type.Static<typeof WorkflowSpec>;

/** The kind `Workflow`. */
export const workflow: AnyKind = defineKind<WorkflowSpec>({
  kind: "Workflow",
  plural: "workflows",
  shortNames: ["wf"],
  global: false,
  summary: "The steps that a task runs, in order, each a command in the workspace.",
  spec: WorkflowSpec,
  check: (spec) => [
    ...checkEnv(spec.env, ["spec", "env"]),
    ...checkTimeout(spec.timeout, ["spec", "timeout"]),
    ...checkUniqueIds(spec.steps),
    ...spec.steps.flatMap((step, index) => checkStep(step, ["spec", "steps", index])),
  ],
  references: (spec) => [
    ...envReferences(spec.env, ["spec", "env"]),
    ...spec.steps.flatMap((step, i): Reference[] =>
      envReferences(step.env, ["spec", "steps", i, "env"])
    ),
  ],
  columns: [{ header: "STEPS", cell: ({ spec }) => spec.steps.map((step) => step.id).join(",") }],
});

function checkUniqueIds(steps: readonly Step[]): Finding[] {
  const seen = new Set<string>();
  return steps.flatMap((step, index) => {
    if (!seen.has(step.id)) return seen.add(step.id) && [];
    return [errorAt(["spec", "steps", index, "id"], `Another step is called "${step.id}" already`)];
  });
}

function checkStep(step: Step, at: FieldPath): Finding[] {
  return [
    ...checkShellLine(step.run, [...at, "run"]),
    ...checkEnv(step.env, [...at, "env"]),
    ...checkTimeout(step.timeout, [...at, "timeout"]),
    ...(step.workdir === undefined ? [] : checkTemplate(step.workdir, [...at, "workdir"])),
  ];
}

/** A shell line goes to the shell as it stands; a hole of ours in it would never be filled. */
function checkShellLine(line: string, at: FieldPath): Finding[] {
  if (line.includes("\0")) return [errorAt(at, "A shell line holds no NUL")];
  const hole = findUnusableHole(line);
  if (hole === undefined) return [];
  return [errorAt(
    at,
    `${hole} is not filled in here, or text from outside could become shell: ` +
      `set it under "env" (env: {VALUE: "${hole}"}) and write "$VALUE"`,
  )];
}

function checkTimeout(timeout: string | number | undefined, at: FieldPath): Finding[] {
  if (timeout === undefined || (findDurationSecs(timeout) ?? 0) > 0) return [];
  return [errorAt(at, "A timeout is at least one second")];
}
