/**
 * Kind `Agent`: a coding agent, or any other program that takes a prompt.
 *
 * @module
 */

import Type from "typebox";
import { type AdapterName, AGENT_OUTPUTS, findAdapter, PLAIN_OUTPUT } from "../agents/adapters.ts";
import { BUDGET_FIELDS, budgetReferences, checkBudget } from "./budget.ts";
import { checkEnv, Env, envExpressions, envReferences } from "./env.ts";
import { type AnyKind, defineKind } from "./kind.ts";
import { needsProgram } from "./machine_needs.ts";
import { errorAt, type Finding, warningAt } from "./resource.ts";
import { checkSandbox, SandboxField, sandboxNeeds, sandboxReferences } from "./sandbox.ts";
import { checkShellLine, programOf } from "./shell_line.ts";
import { checkTimeout, Duration } from "./timeout.ts";

const Flags = Type.String({
  pattern: "^[A-Za-z0-9_ =.,:/@%+$-]*$",
  title: "options in plain words, such as --resume $SVC_SESSION",
});

const Resume = Type.Object({
  new: Type.Optional(Flags),
  again: Flags,
}, {
  additionalProperties: false,
  title: "a mapping, such as {new: --session-id $SVC_SESSION, again: --resume $SVC_SESSION}",
});

const AgentSpec = Type.Object({
  command: Type.String({ minLength: 1, title: "a shell line, such as claude --print" }),
  promptDelivery: Type.Optional(Type.Enum(["stdin", "arg", "env", "file"])),
  env: Type.Optional(Env),
  output: Type.Optional(Type.Enum([...AGENT_OUTPUTS])),
  sandbox: Type.Optional(SandboxField),
  timeout: Type.Optional(Duration),
  resume: Type.Optional(Resume),
  maxParallel: Type.Optional(Type.Integer({ minimum: 1, title: "how many steps at once, from 1" })),
  ...BUDGET_FIELDS,
}, { additionalProperties: false });

/** `spec` of an Agent. */
export type AgentSpec = Type.Static<typeof AgentSpec>;

/** The `promptDelivery` of an Agent that names none. */
export const DEFAULT_DELIVERY = "stdin";

/** The adapter that reads the output of an Agent; `undefined` where that is shown as it is. */
export function adapterOf({ output }: AgentSpec): AdapterName | undefined {
  return output === PLAIN_OUTPUT ? undefined : output;
}

const COMMAND = ["spec", "command"];

/** The kind `Agent`. */
export const agent: AnyKind = defineKind<AgentSpec>("Agent", {
  summary: "A program that takes a prompt, such as a coding agent, for steps to use.",
  spec: AgentSpec,
  checks: [
    (spec) => checkShellLine(spec.command, COMMAND),
    checkDelivery,
    (spec) => checkEnv(spec.env, ["spec", "env"]),
    (spec) => checkTimeout(spec.timeout, ["spec", "timeout"]),
    checkResume,
    checkOutput,
    checkKey,
    checkBudget,
    (spec) => checkSandbox(spec.sandbox, ["spec", "sandbox"]),
    checkLimited,
    checkHeld,
  ],
  references: (spec) => [
    ...envReferences(spec.env, ["spec", "env"]),
    ...sandboxReferences(spec.sandbox, ["spec", "sandbox"]),
    ...budgetReferences(spec),
  ],
  expressions: (spec) => envExpressions(spec.env, ["spec", "env"]),
  machine: (spec) => {
    const program = programOf(spec.command);
    return [
      ...program === undefined ? [] : needsProgram(program, COMMAND, [spec.env]),
      ...sandboxNeeds(spec.sandbox, ["spec", "sandbox"]),
    ];
  },
  columns: [
    { header: "COMMAND", fit: "text", cell: ({ spec }) => spec.command },
    { header: "PROMPT", cell: ({ spec }) => spec.promptDelivery ?? DEFAULT_DELIVERY },
  ],
});

/** The text that a command needs to receive its prompt, by `promptDelivery`. */
const NAMED_AS: Readonly<Record<string, { pattern: RegExp; text: string }>> = {
  arg: { pattern: /\$(\{?[1@*])/, text: '"$1"' },
  env: { pattern: /SVC_PROMPT\b/, text: '"$SVC_PROMPT"' },
  file: { pattern: /SVC_PROMPT_FILE\b/, text: '"$SVC_PROMPT_FILE"' },
};

/** The variable that has the options of `resume` for a step with a session. */
const SESSION_FLAGS = /\$\{?SVC_SESSION_FLAGS\b/;
/** What stands for the agent's own id of the session, in the options of `resume`. */
export const SESSION_ID = "$SVC_SESSION";

/** Checks that the command gets the options of `resume`, and that these name nothing but the session. */
function checkResume({ command, resume }: AgentSpec): Finding[] {
  if (resume === undefined) return [];
  const at = ["spec", "resume"];
  const unknown = (["new", "again"] as const).filter((field) =>
    (resume[field] ?? "").replaceAll(SESSION_ID, "").includes("$")
  );
  return [
    ...SESSION_FLAGS.test(command) ? [] : [errorAt(
      at,
      'The command does not name "$SVC_SESSION_FLAGS", where these options go: add it',
    )],
    ...unknown.map((field) =>
      errorAt([...at, field], `Only ${SESSION_ID} is filled in here, the id of the session`)
    ),
    ...resume.again.includes(SESSION_ID) ? [] : [errorAt(
      [...at, "again"],
      `The options that go on with a session have to name it: ${SESSION_ID}`,
    )],
  ];
}

/**
 * Warns where the command starts a program that prints no events without an option that is not there.
 */
function checkOutput(spec: AgentSpec): Finding[] {
  const adapter = adapterOf(spec);
  const program = programOf(spec.command)?.split("/").at(-1);
  if (adapter === undefined || program === undefined) return [];
  const option = findAdapter(adapter).programs.get(program);
  const format = option?.split(" ").at(-1)?.replace(/^-+/, "");
  if (format === undefined || new RegExp(`\\b${format}\\b`).test(spec.command)) return [];
  return [warningAt(
    ["spec", "output"],
    `output: ${adapter} reads events, which ${program} prints only with ${option}`,
  )];
}

/** The package of each program that does not need the key of its API. */
const PACKAGES: Readonly<Record<string, string>> = {
  claude: "claude-code",
  codex: "codex",
  copilot: "copilot",
  gemini: "gemini-cli",
  opencode: "opencode",
  qwen: "qwen-code",
};

/** Warns of a key that the agent has, where its API could be reached without. */
function checkKey({ command, env = {} }: AgentSpec): Finding[] {
  const pack = PACKAGES[programOf(command)?.split("/").at(-1) ?? ""];
  if (pack === undefined) return [];
  const keys = Object.keys(env).filter((name) =>
    name.endsWith("_API_KEY") && typeof env[name] === "object"
  );
  return keys.map((name) =>
    warningAt(
      ["spec", "env", name],
      "Text from outside may talk the agent out of this key. The package " +
        `${pack} does without: svc integration show ${pack}`,
    )
  );
}

/**
 * Warns of an agent without a timeout: a limit that suits a build seldom suits an agent. No error,
 * because a step may have a timeout, and the daemon limits every step that has none.
 */
function checkLimited({ timeout }: AgentSpec): Finding[] {
  if (timeout !== undefined) return [];
  return [warningAt(
    ["spec"],
    "The agent has no timeout: if it hangs and its step has none either, it holds a worker " +
      "until the timeout of its workflow, else the daemon's step-timeout; add one, such as " +
      "timeout: 30m",
  )];
}

/**
 * Says what the default sandbox means for an agent: what it was able to use before, such as a login in
 * the home directory, is not there.
 */
function checkHeld({ sandbox }: AgentSpec): Finding[] {
  if (sandbox !== undefined) return [];
  return [warningAt(
    ["spec"],
    "Where an event can start it, the agent runs in a sandbox, if this machine can make one: with " +
      "the network, and without the files, logins and keys of your home directory. Name what it " +
      "needs, such as sandbox: {network: all, write: [~/.codex]}, or write sandbox: none",
  )];
}

/**
 * Warns when the command does not use its prompt; no error, because a script can read the
 * environment itself.
 */
function checkDelivery({ command, promptDelivery = DEFAULT_DELIVERY }: AgentSpec): Finding[] {
  const named = NAMED_AS[promptDelivery];
  if (named === undefined || named.pattern.test(command)) return [];
  return [warningAt(
    COMMAND,
    `The prompt is delivered as ${named.text}, which the command does not name`,
  )];
}
