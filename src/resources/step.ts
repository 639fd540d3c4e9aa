/**
 * One step of a Workflow: a command, an agent, a wait, an approval or another workflow, its dependencies, and its behaviour on failure.
 *
 * @module
 */

import Type from "typebox";
import { listed } from "../base/sentence.ts";
import { WORKFLOW_VARIABLES } from "../cel/template.ts";
import { checkExpression, checkTemplate } from "./condition.ts";
import { Approval, approvalExpressions, approvalReferences, checkApproval } from "./approval.ts";
import { checkChild, CHILD_FIELDS, childReferences, textsExpressions } from "./child_workflow.ts";
import { checkEnv, Env, envExpressions, envReferences } from "./env.ts";
import { expressionAt, type FieldExpression, templateExpressions } from "./expressions.ts";
import type { Reference } from "./kind.ts";
import { StepMay } from "./may.ts";
import { Name } from "./metadata.ts";
import { KEY_PATTERN, NAME_PATTERN } from "./names.ts";
import { checkRepeat, repeatOf, type Rounds } from "./repeat.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";
import { checkSandbox, NO_SANDBOX, SandboxField, sandboxReferences } from "./sandbox.ts";
import { checkShell, Shell } from "./shell.ts";
import { checkShellLine } from "./shell_line.ts";
import { checkTimeout, Duration } from "./timeout.ts";
import { checkWaitFor, WaitFor, waitForExpressions, waitForReferences } from "./wait_for.ts";

/** Names of steps: usable in CEL as `steps.<id>`. */
const StepId = Type.String({
  pattern: KEY_PATTERN,
  title: "a step id (a letter, then letters, digits, _ or -; at most 63 characters)",
});

const OutputKey = Type.String({
  pattern: KEY_PATTERN,
  title: "the key of an output (a letter, then letters, digits, _ or -; at most 63 characters)",
});

const Retry = Type.Object({
  attempts: Type.Integer({
    minimum: 1,
    maximum: 100,
    title: "a number of attempts, 1 to 100",
  }),
  backoffSecs: Type.Optional(Type.Integer({ minimum: 0, maximum: 3600 })),
}, { additionalProperties: false, title: "a mapping, such as {attempts: 3, backoffSecs: 10}" });

/** `agent` as written by the user: an Agent, or several, of which the next takes over from one that cannot go on. */
export type AgentField = string | readonly string[];

/** No union, as with `sandbox`: an error has to name the entry that is wrong. */
const AgentField = Type.Unsafe<AgentField>({
  type: ["string", "array"],
  pattern: NAME_PATTERN,
  items: Name,
  minItems: 1,
  maxItems: 8,
  uniqueItems: true,
  title: "the name of an Agent, or a list of up to 8 different names, such as [claude-code, codex]",
});

const Session = Type.Object({
  key: Type.String({ minLength: 1, title: "a CEL expression" }),
}, { additionalProperties: false, title: 'a mapping, such as {key: "payload.thread_ts"}' });

/** What a step does when each of its agents has reached its limit: `wait` until one resets, or `fail`. */
const ON_LIMIT = ["wait", "fail"] as const;

/** The fields of every step. */
const OF_ALL = ["id", "needs", "when"] as const;

/** The fields of steps in which a program runs. */
const OF_PROGRAMS = [
  "sandbox",
  "may",
  "stdout",
  "env",
  "timeout",
  "retry",
  "continueOnError",
  "workdir",
] as const;

/** What a step can be. The field of that name says it. */
interface StepForm {
  /** What that field names, in a sentence. */
  readonly names: string;
  /** The fields that it has apart from that one and those of every step. */
  readonly fields: readonly (keyof Step)[];
  /** Whether it runs no program. */
  readonly runsNothing?: boolean;
}

/** The forms of a step: each step has exactly one of these fields. */
const FORMS = {
  run: { names: "a shell line", fields: [...OF_PROGRAMS, "shell"] },
  agent: {
    names: "the name of an Agent",
    fields: [...OF_PROGRAMS, "prompt", "template", "session", "onLimit"],
  },
  waitFor: {
    names: "what it waits for",
    fields: ["continueOnError"],
    runsNothing: true,
  },
  approval: { names: "a question", fields: [], runsNothing: true },
  workflow: {
    names: "the name of a Workflow",
    fields: ["with", "workspace", "forEach", "maxParallel", "timeout", "continueOnError"],
    runsNothing: true,
  },
  repeat: { names: "steps", fields: ["continueOnError"], runsNothing: true },
} as const satisfies { readonly [Name in keyof Step]?: StepForm };

type StepFormName = keyof typeof FORMS;
const FORM_NAMES = Object.keys(FORMS) as StepFormName[];

const STEP_TITLE =
  'a step: a mapping with "id", and "run", "agent", "waitFor", "approval", "workflow" or "repeat", such as ' +
  "{id: test, run: make test}";

/** Schema of a step that may stand anywhere, also in a `repeat` or under `finally`. */
export const InnerStepSchema = Type.Object({
  id: StepId,
  run: Type.Optional(Type.String({ minLength: 1, title: "a shell line" })),
  shell: Type.Optional(Shell),
  agent: Type.Optional(AgentField),
  session: Type.Optional(Session),
  onLimit: Type.Optional(Type.Enum([...ON_LIMIT])),
  waitFor: Type.Optional(WaitFor),
  approval: Type.Optional(Approval),
  ...CHILD_FIELDS,
  prompt: Type.Optional(Type.String({ minLength: 1, title: "a prompt" })),
  template: Type.Optional(Name),
  sandbox: Type.Optional(SandboxField),
  may: Type.Optional(StepMay),
  stdout: Type.Optional(OutputKey),
  needs: Type.Optional(Type.Array(StepId, { title: "a list of step ids, such as [build]" })),
  when: Type.Optional(Type.String({ minLength: 1, title: "a CEL expression, as text" })),
  env: Type.Optional(Env),
  timeout: Type.Optional(Duration),
  retry: Type.Optional(Retry),
  continueOnError: Type.Optional(Type.Boolean({ title: "true or false" })),
  workdir: Type.Optional(Type.String({ minLength: 1, title: "a directory" })),
}, {
  additionalProperties: false,
  title: STEP_TITLE,
});

/** Schema of one step under `steps`. */
export const StepSchema = Type.Object({
  ...InnerStepSchema.properties,
  repeat: Type.Optional(repeatOf(InnerStepSchema)),
}, { additionalProperties: false, title: STEP_TITLE });

/** A step that repeats none, as written by the user. */
export type InnerStep = Type.Static<typeof InnerStepSchema>;

/** One step of a workflow, as written by the user. */
export type Step = Type.Static<typeof StepSchema>;

/** A step in a list in which those of a `repeat` stand behind it (`step_list.ts`). */
export type FlatStep = InnerStep & {
  readonly repeat?: Rounds;
  /** Id of the step whose `repeat` has it; absent for any other step. */
  readonly within?: string;
};

/** Checks a step by itself; its dependencies are checked in `step_graph.ts`. */
export function checkStep(step: FlatStep, at: FieldPath): Finding[] {
  return [
    ...checkForm(step, at),
    ...checkRepeat(step.repeat, [...at, "repeat"]),
    ...(step.waitFor === undefined ? [] : checkWaitFor(step.waitFor, [...at, "waitFor"])),
    ...(step.approval === undefined ? [] : checkApproval(step.approval, [...at, "approval"])),
    ...checkChild(step, at),
    ...(step.run === undefined ? [] : checkShellLine(step.run, [...at, "run"])),
    ...checkShell(step.shell, [...at, "shell"]),
    ...(step.prompt === undefined ? [] : checkTemplate(step.prompt, [...at, "prompt"])),
    ...checkExpression(step.when, [...at, "when"], WORKFLOW_VARIABLES),
    ...checkSession(step, [...at, "session"]),
    ...checkEnv(step.env, [...at, "env"]),
    ...checkSandbox(step.sandbox, [...at, "sandbox"]),
    ...checkTimeout(step.timeout, [...at, "timeout"]),
    ...(step.workdir === undefined ? [] : checkTemplate(step.workdir, [...at, "workdir"])),
  ];
}

/** Checks that a step is one thing, and has the fields of that. */
function checkForm(step: FlatStep, at: FieldPath): Finding[] {
  const forms = FORM_NAMES.filter((name) => step[name] !== undefined);
  const name = forms.findLast((one) => runsNothing(one)) ?? forms[0];
  if (name === undefined) {
    const all = FORM_NAMES.map((one) => `"${one}" (${FORMS[one].names})`);
    return [errorAt(at, `A step needs ${listed(all, "or")}`)];
  }
  const other = forms.find((one) => one !== name);
  if (other !== undefined && !runsNothing(name)) {
    return [
      errorAt([...at, other], `A step has either "${name}" or "${other}", remove one of them`),
    ];
  }
  const known: readonly string[] = [...OF_ALL, "within", name, ...FORMS[name].fields];
  const foreign = Object.keys(step).find((field) => !known.includes(field));
  if (foreign !== undefined) return [errorAt([...at, foreign], whyForeign(foreign, name))];
  return name === "agent" ? checkAgent(step, at) : [];
}

/** Whether a step of this form runs no program. */
const runsNothing = (name: StepFormName) => (FORMS[name] as StepForm).runsNothing === true;

/** Why a step of this form does not have a field that others have. */
function whyForeign(field: string, name: StepFormName): string {
  if (runsNothing(name)) {
    const what = { repeat: "its own steps", workflow: "another task" }[name as string] ?? "nothing";
    return `A step with "${name}" runs ${what}, so it has no "${field}"`;
  }
  if (field === "shell") {
    return '"shell" is for steps with "run": the "command" of an Agent names its own program, ' +
      "and starts under /bin/sh -e";
  }
  const those = FORM_NAMES.filter((one) => FORMS[one].fields.some((own) => own === field));
  return `"${field}" is for steps with ${listed(those.map((one) => `"${one}"`), "or")}, ` +
    `this one has "${name}"`;
}

function checkAgent({ prompt, template }: FlatStep, at: FieldPath): Finding[] {
  if (prompt !== undefined && template !== undefined) {
    return [
      errorAt([...at, "template"], 'An agent gets "prompt" or "template", remove one of them'),
    ];
  }
  if (prompt === undefined && template === undefined) {
    return [
      errorAt(at, 'An agent needs "prompt" (text) or "template" (the name of a StepTemplate)'),
    ];
  }
  return [];
}

/** A kept home without walls around it would be one that anything else can read and change. */
function checkSession({ session, sandbox }: FlatStep, at: FieldPath): Finding[] {
  if (session === undefined) return [];
  const bare = sandbox === NO_SANDBOX
    ? [errorAt(at, 'A session is kept for a sandbox: remove "session", or "sandbox: none"')]
    : [];
  return [...bare, ...checkExpression(session.key, [...at, "key"], WORKFLOW_VARIABLES)];
}

/** The fields of a step that waits, none of which stands under `finally`. */
export function waitingFields(
  step: { readonly [Name in StepFormName]?: unknown },
): readonly string[] {
  return FORM_NAMES.filter((name) => runsNothing(name) && step[name] !== undefined);
}

/** Whether a program runs in a step; it waits otherwise, or is a `repeat`. */
export function runsProgram(step: Parameters<typeof waitingFields>[0]): boolean {
  return waitingFields(step).length === 0;
}

/** The names in the field `agent`, the preferred one first; empty for a shell line. */
export function agentNames({ agent }: Pick<InnerStep, "agent">): readonly string[] {
  return agent === undefined ? [] : typeof agent === "string" ? [agent] : agent;
}

/** The expressions of a step at path `at`. */
export function stepExpressions(
  step: FlatStep,
  at: FieldPath,
): FieldExpression[] {
  const { when, repeat, session, waitFor, approval, forEach, prompt, workdir, env } = step;
  return [
    ...expressionAt(when, [...at, "when"]),
    ...expressionAt(repeat?.until, [...at, "repeat", "until"]),
    ...expressionAt(session?.key, [...at, "session", "key"]),
    ...waitForExpressions(waitFor, [...at, "waitFor"]),
    ...approvalExpressions(approval, [...at, "approval"]),
    ...textsExpressions(step.with, [...at, "with"]),
    ...expressionAt(forEach, [...at, "forEach"]),
    ...templateExpressions(prompt, [...at, "prompt"]),
    ...templateExpressions(workdir, [...at, "workdir"]),
    ...envExpressions(env, [...at, "env"]),
  ];
}

/** The references of a step at path `at`. */
export function stepReferences(step: FlatStep, at: FieldPath): Reference[] {
  const consequence = "its tasks fail until it is applied";
  const { agent, template } = step;
  const agents = agentNames(step).map((name, index): Reference => {
    const path = typeof agent === "string" ? [...at, "agent"] : [...at, "agent", index];
    return { kind: "Agent", name, path, consequence };
  });
  return [
    ...agents,
    ...template === undefined
      ? []
      : [{ kind: "StepTemplate", name: template, path: [...at, "template"], consequence }],
    ...waitForReferences(step.waitFor, [...at, "waitFor"]),
    ...envReferences(step.env, [...at, "env"]),
    ...sandboxReferences(step.sandbox, [...at, "sandbox"]),
    ...approvalReferences(step.approval, [...at, "approval"]),
    ...childReferences(step, at),
  ];
}
