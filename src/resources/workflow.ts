/**
 * Kind `Workflow`: the steps of a task, and those that run at its end whatever happened.
 *
 * @module
 */

import Type from "typebox";
import { FORGES } from "../base/forge_names.ts";
import { WORKFLOW_VARIABLES } from "../cel/template.ts";
import { checkOnReject } from "./approval.ts";
import { checkNotItself, checkTexts, Texts, textsExpressions } from "./child_workflow.ts";
import { checkExpression } from "./condition.ts";
import { checkEnv, Env, envExpressions, envReferences } from "./env.ts";
import { type AnyKind, defineKind, type Reference } from "./kind.ts";
import type { MachineNeed } from "./machine_needs.ts";
import { checkMay, checkStepMay, type ForgeMay, May } from "./may.ts";
import { errorAt, type FieldPath, type Finding, warningAt } from "./resource.ts";
import { checkSandbox, SandboxField, sandboxNeeds, sandboxReferences } from "./sandbox.ts";
import { checkShell, Shell, shellProgram } from "./shell.ts";
import {
  checkStep,
  type InnerStep,
  InnerStepSchema,
  stepExpressions,
  stepReferences,
  StepSchema,
  waitingFields,
} from "./step.ts";
import { checkGraph, checkSize, checkStepNames, namedSteps, needsOf } from "./step_graph.ts";
import { allSteps, flatSteps, type PlacedStep } from "./step_list.ts";
import { checkFinallyReads, checkRoundReads } from "./step_reads.ts";
import { checkTimeout, Duration } from "./timeout.ts";

const WorkflowSpec = Type.Object({
  steps: Type.Array(StepSchema, { minItems: 1, title: "a list of at least one step" }),
  finally: Type.Optional(Type.Array(InnerStepSchema, { title: "a list of steps" })),
  env: Type.Optional(Env),
  shell: Type.Optional(Shell),
  sandbox: Type.Optional(SandboxField),
  may: Type.Optional(May),
  timeout: Type.Optional(Duration),
  outputs: Type.Optional(Texts),
}, { additionalProperties: false });

/** `spec` of a Workflow. */
export type WorkflowSpec = Type.Static<typeof WorkflowSpec>;

const STEPS = ["spec", "steps"];
const FINALLY = ["spec", "finally"];

/** The steps but those under `finally`, with their paths. */
const mainSteps = ({ steps }: WorkflowSpec) => flatSteps(steps, STEPS);
/** The steps under `finally`, with their paths. */
const lastSteps = ({ finally: last = [] }: WorkflowSpec) => flatSteps(last, FINALLY);
/** All steps, with their paths. */
const placedSteps = (spec: WorkflowSpec) => [...mainSteps(spec), ...lastSteps(spec)];

export const workflow: AnyKind = defineKind<WorkflowSpec>("Workflow", {
  summary: "The steps that a task runs: commands and agents, ordered by what each needs.",
  spec: WorkflowSpec,
  checks: [
    (spec) => checkSize(allSteps(spec)),
    (spec) => checkEnv(spec.env, ["spec", "env"]),
    (spec) => checkShell(spec.shell, ["spec", "shell"]),
    (spec) => checkTimeout(spec.timeout, ["spec", "timeout"]),
    (spec) => checkSandbox(spec.sandbox, ["spec", "sandbox"]),
    (spec) => checkMay(spec.may, ["spec", "may"]),
    (spec) => checkTexts(spec.outputs, ["spec", "outputs"]),
    (spec) => checkOutputs(spec),
    sized((spec) =>
      placedSteps(spec).flatMap(({ step, at }) => checkStepMay(step.may, spec.may, [...at, "may"]))
    ),
    checkForAgents,
    sized((spec) => checkUniqueIds(placedSteps(spec))),
    sized((spec) => placedSteps(spec).flatMap(({ step, at }) => checkStep(step, at))),
    sized((spec) => checkGraph(mainSteps(spec))),
    ({ finally: last = [] }) => checkFinally(last),
    sized((spec) => checkStepNames(mainSteps(spec))),
    sized((spec) => checkStepNames(lastSteps(spec), mainSteps(spec).map(({ step }) => step.id))),
    sized((spec) => checkRoundReads(mainSteps(spec))),
    sized((spec) => checkFinallyReads(lastSteps(spec), mainSteps(spec))),
    sized((spec) => checkAnswersRead(mainSteps(spec))),
    sized((spec) => checkEnds(mainSteps(spec))),
  ],
  checkName: (name, spec) => checkNotItself(name, placedSteps(spec)),
  references: (spec): Reference[] => [
    ...envReferences(spec.env, ["spec", "env"]),
    ...sandboxReferences(spec.sandbox, ["spec", "sandbox"]),
    ...placedSteps(spec).flatMap(({ step, at }) => stepReferences(step, at)),
  ],
  expressions: (spec) => [
    ...envExpressions(spec.env, ["spec", "env"]),
    ...textsExpressions(spec.outputs, ["spec", "outputs"]),
    ...placedSteps(spec).flatMap(({ step, at }) => stepExpressions(step, at)),
  ],
  machine: (spec) => [
    ...shellProgram(spec.shell, ["spec", "shell"], [spec.env]),
    ...placedSteps(spec).flatMap(({ step, at }) =>
      shellProgram(step.shell, [...at, "shell"], [spec.env, step.env])
    ),
    ...allSandboxNeeds(spec),
  ],
  columns: [{
    header: "STEPS",
    fit: "text",
    cell: ({ spec }) => allSteps(spec).map(({ id }) => id).join(","),
  }],
});

/**
 * A check that runs only on as many steps as a task can schedule, because it would take long on
 * more.
 */
function sized(check: (spec: WorkflowSpec) => Finding[]): (spec: WorkflowSpec) => Finding[] {
  return (spec) => checkSize(allSteps(spec)).length > 0 ? [] : check(spec);
}

/**
 * Warns where protected files go out that an agent may have changed, and no person looks at them, and
 * where an agent chooses the names of statuses.
 */
function checkForAgents(spec: WorkflowSpec): Finding[] {
  const { may } = spec;
  if (allSteps(spec).every(({ agent }) => agent === undefined)) return [];
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

function checkUniqueIds(placed: readonly PlacedStep[]): Finding[] {
  const seen = new Set<string>();
  return placed.flatMap(({ step: { id }, at }) => {
    if (!seen.has(id)) return seen.add(id) && [];
    return [errorAt([...at, "id"], `Another step is already called "${id}"`)];
  });
}

/**
 * Checks `finally`: its steps run one after the other, so `needs` is refused; and they end the task, so
 * none waits.
 */
function checkFinally(steps: readonly InnerStep[]): Finding[] {
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
function checkAnswersRead(placed: readonly PlacedStep[]): Finding[] {
  const steps = placed.map(({ step }) => step);
  return placed.flatMap(({ step, at }) => {
    if (step.approval?.onReject !== "continue") return [];
    const next = steps.filter((_, place) => needsOf(steps, place).includes(step.id));
    const block = next.length > 0 ? undefined : steps.find(({ id }) => id === step.within);
    const ends = block === undefined ? [] : [{ id: block.id, when: block.repeat?.until }];
    return checkOnReject(step, [...next, ...ends], at);
  });
}

/** Refuses a `repeat` that no step of its own can end: each round would end as the one before. */
function checkEnds(placed: readonly PlacedStep[]): Finding[] {
  const known = new Set(placed.map(({ step }) => step.id));
  return placed.flatMap(({ step: { id, repeat }, at }) => {
    if (repeat === undefined) return [];
    const own = placed.flatMap(({ step }) => step.within === id ? step.id : []);
    const until = [...at, "repeat", "until"];
    if (checkExpression(repeat.until, until, WORKFLOW_VARIABLES).length > 0) return [];
    const named = namedSteps(repeat.until);
    if (named.some((one) => !known.has(one) || one === id || own.includes(one))) return [];
    const [last] = own.slice(-1);
    return [errorAt(
      until,
      `"until" reads no step of its "repeat", so each round would end as the one before: ` +
        `take such as steps.${last}.outputs.state == "green"`,
    )];
  });
}

/** Refuses outputs that read a step which does not exist. */
function checkOutputs(spec: WorkflowSpec): Finding[] {
  const known = new Set(placedSteps(spec).map(({ step }) => step.id));
  return textsExpressions(spec.outputs, ["spec", "outputs"]).flatMap(({ at, source }) =>
    namedSteps(source).flatMap((id) =>
      known.has(id) ? [] : [errorAt(at, `No step is called "${id}" here`)]
    )
  );
}

/** The sandboxes of the workflow and its steps; the default one where an agent has none of theirs. */
function allSandboxNeeds(spec: WorkflowSpec): MachineNeed[] {
  const { sandbox } = spec;
  const placed = placedSteps(spec);
  const bare = placed.find(({ step }) => step.agent !== undefined && step.sandbox === undefined);
  return [
    ...sandboxNeeds(sandbox, ["spec", "sandbox"]),
    ...placed.flatMap(({ step, at }) => sandboxNeeds(step.sandbox, [...at, "sandbox"])),
    ...sandbox !== undefined || bare === undefined
      ? []
      : [{ needs: "sandbox", rules: false, optional: true, at: bare.at } as const],
  ];
}
