/**
 * One step of a Workflow: a command, an agent or a wait, its dependencies, and its behaviour on failure.
 *
 * @module
 */

import Type from "typebox";
import { WORKFLOW_VARIABLES } from "../cel/template.ts";
import { checkExpression, checkTemplate } from "./condition.ts";
import { checkEnv, Env, envExpressions, envReferences } from "./env.ts";
import { expressionAt, type FieldExpression, templateExpressions } from "./expressions.ts";
import type { Reference } from "./kind.ts";
import { StepMay } from "./may.ts";
import { Name } from "./metadata.ts";
import { NAME_PATTERN } from "./names.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";
import { checkSandbox, NO_SANDBOX, SandboxField, sandboxReferences } from "./sandbox.ts";
import { checkShell, Shell } from "./shell.ts";
import { checkShellLine } from "./shell_line.ts";
import { checkTimeout, Duration } from "./timeout.ts";
import { checkWaitFor, WaitFor, waitForExpressions } from "./wait_for.ts";

/** Names of steps: usable in CEL as `steps.<id>`. */
const StepId = Type.String({
  pattern: "^[A-Za-z_][A-Za-z0-9_-]{0,62}$",
  title: "a step id (a letter, then letters, digits, _ or -; at most 63 characters)",
});

const OutputKey = Type.String({
  pattern: "^[A-Za-z_][A-Za-z0-9_-]{0,62}$",
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

/** The fields that only a step with an agent has. */
const AGENT_FIELDS = ["prompt", "template", "session", "onLimit"] as const;

/** The fields that a step with `waitFor` has, which runs nothing. */
const WAIT_FIELDS = ["id", "waitFor", "needs", "when", "continueOnError"];

/** Schema of one step. */
export const StepSchema = Type.Object({
  id: StepId,
  run: Type.Optional(Type.String({ minLength: 1, title: "a shell line" })),
  shell: Type.Optional(Shell),
  agent: Type.Optional(AgentField),
  session: Type.Optional(Session),
  onLimit: Type.Optional(Type.Enum([...ON_LIMIT])),
  waitFor: Type.Optional(WaitFor),
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
  title: 'a step: a mapping with "id", and "run", "agent" or "waitFor", such as ' +
    "{id: test, run: make test}",
});

/** One step of a workflow, as written by the user. */
export type Step = Type.Static<typeof StepSchema>;

/** Checks a step by itself; its dependencies are checked in `step_graph.ts`. */
export function checkStep(step: Step, at: FieldPath): Finding[] {
  return [
    ...checkWhatRuns(step, at),
    ...(step.waitFor === undefined ? [] : checkWaitFor(step.waitFor, [...at, "waitFor"])),
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

function checkWhatRuns(step: Step, at: FieldPath): Finding[] {
  const { run, agent, waitFor, prompt, template } = step;
  if (waitFor !== undefined) {
    const field = Object.keys(step).find((name) => !WAIT_FIELDS.includes(name));
    if (field === undefined) return [];
    return [errorAt([...at, field], `A step with "waitFor" runs nothing, so it has no "${field}"`)];
  }
  if (run !== undefined && agent !== undefined) {
    return [errorAt([...at, "agent"], 'A step has either "run" or "agent", remove one of them')];
  }
  if (run === undefined && agent === undefined) {
    return [errorAt(
      at,
      'A step needs "run" (a shell line), "agent" (the name of an Agent) or "waitFor" (a time)',
    )];
  }
  if (run !== undefined) {
    const field = AGENT_FIELDS.find((name) => Object.hasOwn(step, name));
    if (field === undefined) return [];
    return [errorAt([...at, field], `"${field}" is for steps with "agent", this one has "run"`)];
  }
  if (step.shell !== undefined) {
    return [errorAt(
      [...at, "shell"],
      '"shell" is for steps with "run": the "command" of an Agent names its own program, ' +
        "and starts under /bin/sh -e",
    )];
  }
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
function checkSession({ session, sandbox }: Step, at: FieldPath): Finding[] {
  if (session === undefined) return [];
  const bare = sandbox === NO_SANDBOX
    ? [errorAt(at, 'A session is kept for a sandbox: remove "session", or "sandbox: none"')]
    : [];
  return [...bare, ...checkExpression(session.key, [...at, "key"], WORKFLOW_VARIABLES)];
}

/** The names in the field `agent`, the preferred one first; empty for a shell line. */
export function agentNames({ agent }: Pick<Step, "agent">): readonly string[] {
  return agent === undefined ? [] : typeof agent === "string" ? [agent] : agent;
}

/** The expressions of a step at path `at`. */
export function stepExpressions(
  { when, session, waitFor, prompt, workdir, env }: Step,
  at: FieldPath,
): FieldExpression[] {
  return [
    ...expressionAt(when, [...at, "when"]),
    ...expressionAt(session?.key, [...at, "session", "key"]),
    ...waitForExpressions(waitFor, [...at, "waitFor"]),
    ...templateExpressions(prompt, [...at, "prompt"]),
    ...templateExpressions(workdir, [...at, "workdir"]),
    ...envExpressions(env, [...at, "env"]),
  ];
}

/** The references of a step at path `at`. */
export function stepReferences(step: Step, at: FieldPath): Reference[] {
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
    ...envReferences(step.env, [...at, "env"]),
    ...sandboxReferences(step.sandbox, [...at, "sandbox"]),
  ];
}
