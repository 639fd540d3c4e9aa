/**
 * Kind `Workflow`: the steps of a task, and those that run at its end whatever happened.
 *
 * @module
 */

import Type from "typebox";
import { FORGES } from "../base/forge_names.ts";
import { strictReads } from "../cel/analysis.ts";
import type { Path } from "../cel/values.ts";
import { checkOnReject } from "./approval.ts";
import { checkEnv, Env, envExpressions, envReferences } from "./env.ts";
import { type AnyKind, defineKind, type Reference } from "./kind.ts";
import type { MachineNeed } from "./machine_needs.ts";
import { checkMay, checkStepMay, type ForgeMay, May } from "./may.ts";
import { errorAt, type FieldPath, type Finding, warningAt } from "./resource.ts";
import { checkSandbox, SandboxField, sandboxNeeds, sandboxReferences } from "./sandbox.ts";
import { checkShell, Shell, shellProgram } from "./shell.ts";
import {
  checkStep,
  type Step,
  stepExpressions,
  stepReferences,
  StepSchema,
  waitingFields,
} from "./step.ts";
import { checkGraph, checkSize, checkStepNames, needsOf } from "./step_graph.ts";
import { checkTimeout, Duration } from "./timeout.ts";

const WorkflowSpec = Type.Object({
  steps: Type.Array(StepSchema, { minItems: 1, title: "a list of at least one step" }),
  finally: Type.Optional(Type.Array(StepSchema, { title: "a list of steps" })),
  env: Type.Optional(Env),
  shell: Type.Optional(Shell),
  sandbox: Type.Optional(SandboxField),
  may: Type.Optional(May),
  timeout: Type.Optional(Duration),
}, { additionalProperties: false });

/** `spec` of a Workflow. */
export type WorkflowSpec = Type.Static<typeof WorkflowSpec>;

const STEPS = ["spec", "steps"];
const FINALLY = ["spec", "finally"];

export const workflow: AnyKind = defineKind<WorkflowSpec>("Workflow", {
  summary: "The steps that a task runs: commands and agents, ordered by what each needs.",
  spec: WorkflowSpec,
  checks: [
    checkSize,
    (spec) => checkEnv(spec.env, ["spec", "env"]),
    (spec) => checkShell(spec.shell, ["spec", "shell"]),
    (spec) => checkTimeout(spec.timeout, ["spec", "timeout"]),
    (spec) => checkSandbox(spec.sandbox, ["spec", "sandbox"]),
    (spec) => checkMay(spec.may, ["spec", "may"]),
    sized(checkStepsMay),
    checkForAgents,
    sized(checkUniqueIds),
    sized(({ steps }) => steps.flatMap((step, index) => checkStep(step, [...STEPS, index]))),
    sized(({ finally: last = [] }) =>
      last.flatMap((step, index) => checkStep(step, [...FINALLY, index]))
    ),
    sized(({ steps }) => checkGraph(steps, STEPS)),
    ({ finally: last = [] }) => checkFinally(last),
    sized(({ steps }) => checkStepNames(steps, STEPS)),
    sized(({ steps, finally: last = [] }) =>
      checkStepNames(last, FINALLY, steps.map((step) => step.id))
    ),
    sized(checkFinallyReads),
    sized(checkAnswersRead),
  ],
  references: (spec): Reference[] => [
    ...envReferences(spec.env, ["spec", "env"]),
    ...sandboxReferences(spec.sandbox, ["spec", "sandbox"]),
    ...spec.steps.flatMap((step, index) => stepReferences(step, [...STEPS, index])),
    ...(spec.finally ?? []).flatMap((step, index) => stepReferences(step, [...FINALLY, index])),
  ],
  expressions: ({ env, steps, finally: last = [] }) => [
    ...envExpressions(env, ["spec", "env"]),
    ...steps.flatMap((step, index) => stepExpressions(step, [...STEPS, index])),
    ...last.flatMap((step, index) => stepExpressions(step, [...FINALLY, index])),
  ],
  machine: (spec) => [
    ...shellProgram(spec.shell, ["spec", "shell"], [spec.env]),
    ...stepPrograms(spec.steps, STEPS, spec),
    ...stepPrograms(spec.finally ?? [], FINALLY, spec),
    ...allSandboxNeeds(spec),
  ],
  columns: [{
    header: "STEPS",
    fit: "text",
    cell: ({ spec }) => [...spec.steps, ...spec.finally ?? []].map((step) => step.id).join(","),
  }],
});

/**
 * A check that runs only on as many steps as a task can schedule, because it would take long on
 * more.
 */
function sized(check: (spec: WorkflowSpec) => Finding[]): (spec: WorkflowSpec) => Finding[] {
  return (spec) => checkSize(spec).length > 0 ? [] : check(spec);
}

/** A step has at most the outputs of its workflow. */
function checkStepsMay({ may, steps, finally: last = [] }: WorkflowSpec): Finding[] {
  const look = (some: readonly Step[], at: FieldPath) =>
    some.flatMap((step, index) => checkStepMay(step.may, may, [...at, index, "may"]));
  return [...look(steps, STEPS), ...look(last, FINALLY)];
}

/**
 * Warns where protected files go out that an agent may have changed, and no person looks at them, and
 * where an agent chooses the names of statuses.
 */
function checkForAgents({ may, steps, finally: last = [] }: WorkflowSpec): Finding[] {
  if ([...steps, ...last].every(({ agent }) => agent === undefined)) return [];
  return FORGES.flatMap((forge) => {
    const [block, at] = [may?.[forge] ?? {}, ["spec", "may", forge]];
    return [...checkForgeHold(block, at), ...checkForgeNames(block, at)];
  });
}

/** A branch knows a check by its name alone. */
function checkForgeNames({ status, check }: ForgeMay, at: FieldPath): Finding[] {
  return Object.entries({ status, check }).flatMap(([name, output]) =>
    output === undefined || output.names !== undefined ? [] : [warningAt(
      [...at, name],
      "An agent can report any name as green, also one that the branch requires: name those that " +
        'it may report, such as names: ["svc/*"]',
    )]
  );
}

function checkForgeHold({ hold: all, pull, push }: ForgeMay, at: FieldPath): Finding[] {
  return Object.entries({ pull, push }).flatMap(([name, output]) => {
    const isNever = output?.hold === "never" && (all ?? "never") === "never" ||
      output !== undefined && output.hold === undefined && all === "never";
    if (!isNever) return [];
    const own = output.hold === undefined ? ["hold"] : [name, "hold"];
    return [warningAt(
      [...at, ...own],
      `"never" sends what an agent has changed in protected files without a person: ` +
        'leave it out, or name the files under "free"',
    )];
  });
}

function checkUniqueIds(spec: WorkflowSpec): Finding[] {
  const seen = new Set<string>();
  const look = (steps: readonly Step[], field: string) =>
    steps.flatMap((step, index) => {
      if (!seen.has(step.id)) return seen.add(step.id) && [];
      return [
        errorAt(["spec", field, index, "id"], `Another step is already called "${step.id}"`),
      ];
    });
  return [...look(spec.steps, "steps"), ...look(spec.finally ?? [], "finally")];
}

/**
 * Checks `finally`: its steps run one after the other, so `needs` is refused; and they end the task, so
 * none waits.
 */
function checkFinally(steps: readonly Step[]): Finding[] {
  return steps.flatMap((step, index) => [
    ...step.needs === undefined ? [] : [errorAt(
      [...FINALLY, index, "needs"],
      'Steps under "finally" run one after the other when all other steps have ended: remove "needs"',
    )],
    ...waitingFields(step).map((field) =>
      errorAt(
        [...FINALLY, index, field],
        `Steps under "finally" end the task, so none of them waits: remove "${field}", or the step`,
      )
    ),
  ]);
}

/** Refuses steps that go on after a rejection without having asked what the answer was. */
function checkAnswersRead({ steps }: WorkflowSpec): Finding[] {
  return steps.flatMap((step, index) => {
    if (step.approval?.onReject !== "continue") return [];
    const next = steps.filter((_, place) => needsOf(steps, place).includes(step.id));
    return checkOnReject(step, next, [...STEPS, index]);
  });
}

/**
 * Warns about each step under `finally` that reads a value which a failure of another step leaves
 * out: a step that was to report the failure would then fail itself.
 */
function checkFinallyReads({ steps, finally: last = [] }: WorkflowSpec): Finding[] {
  const ids = new Set(steps.map(({ id }) => id));
  return last.flatMap((step, index) => {
    // A condition that fails skips its step, and one that is true has found its values.
    if (step.when !== undefined) return [];
    return stepExpressions(step, [...FINALLY, index]).flatMap(({ at, source }) =>
      strictReadsOf(source).flatMap(([variable, id = "", part]) => {
        if (variable !== "steps" || !ids.has(id)) return [];
        const why = part === "outputs"
          ? `if step "${id}" did not get that far`
          : "if the task could not get its workspace";
        const cure = `{{ default(${source}, "${part === "state" ? "skipped" : ""}") }}`;
        return [warningAt(
          at,
          `{{ ${source} }} has no value ${why}, and this step then fails: write ${cure}`,
        )];
      }).slice(0, 1)
    );
  });
}

function strictReadsOf(source: string): readonly Path[] {
  try {
    return strictReads(source);
  } catch {
    return []; // reported where the template is checked
  }
}

/** The sandboxes of the workflow and its steps; the default one where an agent has none of theirs. */
function allSandboxNeeds({ sandbox, steps, finally: last = [] }: WorkflowSpec): MachineNeed[] {
  const fields = [
    ...steps.map((step, index) => ({ step, at: [...STEPS, index] })),
    ...last.map((step, index) => ({ step, at: [...FINALLY, index] })),
  ];
  const bare = fields.find(({ step }) => step.agent !== undefined && step.sandbox === undefined);
  return [
    ...sandboxNeeds(sandbox, ["spec", "sandbox"]),
    ...fields.flatMap(({ step, at }) => sandboxNeeds(step.sandbox, [...at, "sandbox"])),
    ...sandbox !== undefined || bare === undefined
      ? []
      : [{ needs: "sandbox", rules: false, optional: true, at: bare.at } as const],
  ];
}

function stepPrograms(
  steps: readonly Step[],
  at: FieldPath,
  { env }: Pick<WorkflowSpec, "env">,
): MachineNeed[] {
  return steps.flatMap((step, index) =>
    shellProgram(step.shell, [...at, index, "shell"], [env, step.env])
  );
}
