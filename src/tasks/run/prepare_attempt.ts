/**
 * Prepares an attempt at a step: its environment, its directory, its prompt if it runs an agent, and
 * its command. Text from outside reaches the process only as a variable, an argument, a file or
 * standard input.
 *
 * @module
 */

import { join, resolve } from "node:path";
import { utf8 } from "../../base/bytes.ts";
import { defined } from "../../base/defined.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import { secretWord } from "../../base/outside_marks.ts";
import { compileTemplate, renderTemplate } from "../../cel/template.ts";
import { plannedSteps } from "../../resources/step_list.ts";
import type { ShellCommand } from "../../shell/run_shell.ts";
import type { StepLog } from "../log/task_log.ts";
import type { PlannedStep } from "../plan.ts";
import { renderPrompt } from "../step/prompt.ts";
import { GOAL_FILE, MCP_CONFIG, mcpConfig } from "../step/mcp_config.ts";
import { type DeliveredPrompt, deliverPrompt } from "../step/prompt_delivery.ts";
import { commandOf } from "../step/step_command.ts";
import { fillEnv } from "../step/step_env.ts";
import { CommandSandbox } from "../sandbox/command_sandbox.ts";
import { chooseSandbox, controlOf } from "../sandbox/step_sandbox.ts";
import type { RunningSession } from "./agent_session.ts";
import { type GivenMessages, promptPieces, type StepReading } from "./inbox_reading.ts";
import type { TaskContext } from "./task_context.ts";

/** A step with its position. */
export interface PositionedStep {
  readonly step: PlannedStep;
  /** Position among all steps of the task, those under `finally` last. */
  readonly position: number;
  /** Whether the step is under `finally`. */
  readonly isFinally?: boolean;
}

/** What the attempt of an agent continues. */
export interface AgentWork {
  /** Number of the agent's run within the attempt, from 0: another agent may take over. */
  readonly run: number;
  readonly session?: RunningSession;
  /** A sentence of svc's before the prompt; empty if the agent begins the work. */
  readonly opening: string;
  /** What the run may cost at most, in dollars, for an agent that can hold it. */
  readonly maxUsd?: number;
}

/** The command of an attempt, and the path of the file for its outputs. */
export interface PreparedAttempt {
  readonly command: Pick<ShellCommand, "line" | "args" | "stdin" | "cwd" | "env">;
  readonly output: string;
  /** The sandbox around it, if there is one. */
  readonly sandbox?: CommandSandbox;
  /** What the log says before the step starts. */
  readonly note?: string;
}

/** Variable that marks every process of one attempt, whatever its process group. */
export const ATTEMPT_MARK = "SVC_STEP_RUN";

/**
 * Prepares attempt `number` of a step.
 *
 * @throws {AppError} `invalid` when the author of the workflow has to change something, so that another
 * attempt would fail in the same way.
 */
export async function prepareAttempt(
  positioned: PositionedStep,
  { context, number, token, log, reading, work }: {
    readonly context: TaskContext;
    /** The messages that the step is given. */
    readonly reading: StepReading;
    readonly number: number;
    /** Run token of the attempt. */
    readonly token: string;
    readonly log: StepLog;
    readonly work?: AgentWork | undefined;
  },
): Promise<PreparedAttempt> {
  const { step, position } = positioned;
  const { host, plan } = context;
  const hasAgent = plannedSteps(plan).some(({ agent }) => agent !== undefined);
  const choice = await chooseSandbox(
    step,
    { hasAgent, hasSession: step.session !== undefined },
    host.sandboxes,
  );
  const round = context.steps.roundOf(position);
  const inRound = round === 1 ? "" : `r${round}.`; // the files of no round have the name of another
  const name = `${position}.${inRound}${number}${work === undefined ? "" : `.${work.run}`}`;
  const how = { name, number, round, token, reading, ...defined({ work }) };
  if (!("sandbox" in choice)) {
    return { ...await prepareIn(undefined, positioned, context, how), ...choice };
  }
  const { claimed: { task }, files, directory, signals } = context;
  const tools = { signal: signals.stop, taskId: task.id };
  const sandbox = await CommandSandbox.open(choice.sandbox, {
    id: `${task.id}.${name}`,
    project: task.project,
    held: await host.directories.hold(directory, tools),
    files,
    ...defined({ session: work?.session && host.sessionHomes.of(work.session.id) }),
    note: (line) => log.note(line),
  }, host);
  try {
    return await prepareIn(sandbox, positioned, context, how);
  } catch (error) {
    await sandbox.close();
    throw error;
  }
}

async function prepareIn(
  sandbox: CommandSandbox | undefined,
  { step }: PositionedStep,
  context: TaskContext,
  { name, number, round, token, reading, work }: {
    /** Names the attempt, and the run of its agent, among those of its task. */
    readonly name: string;
    readonly number: number;
    readonly round: number;
    readonly token: string;
    readonly reading: StepReading;
    readonly work?: AgentWork;
  },
): Promise<PreparedAttempt> {
  const { host, plan, claimed, files } = context;
  const sources = {
    evaluator: context.evaluator,
    catalog: host.catalog,
    project: claimed.task.project,
  };
  const blocks = [plan.workspace.env, plan.env, step.agent?.env ?? {}, step.env ?? {}];
  const filled = await fillEnv(blocks, context.scope, sources);
  const cwd = await workdirOf(step, context);
  const { env: promptEnv, ...prompt } = await promptOf(step, context, {
    name: `prompt.${name}`,
    opening: work?.opening ?? "",
    given: await reading.give(step),
  });
  const output = sandbox === undefined
    ? await files.makeEmpty()
    : await files.makeOnDisk(`output-${name}`);
  const env: Record<string, string> = {
    ...host.inherited.variables,
    ...sandbox?.variables,
    ...filled,
    ...work?.session?.variables,
    ...promptEnv,
    ...context.variables,
    SVC_STEP: step.id,
    SVC_ATTEMPT: String(number),
    ...step.within === undefined ? {} : { SVC_ROUND: String(round) },
    SVC_OUTPUT: output,
    SVC_RUN_TOKEN: token,
    [ATTEMPT_MARK]: `${context.mark}.${name}`,
  };
  if (work?.maxUsd !== undefined) env["SVC_BUDGET_USD"] = String(work.maxUsd);
  const goal = step.agent === undefined ? undefined : await goalFile(name, context);
  if (goal !== undefined) env[GOAL_FILE] = goal;
  if (step.agent !== undefined && controlOf(step) !== false) {
    const config = mcpConfig(join(host.dirs.bin, "svc"), env);
    env[MCP_CONFIG] = sandbox === undefined
      ? await files.make(`mcp.${name}`, config)
      : await sandbox.putMcpConfig(config);
  }
  const command = await commandOf(step, {
    cwd,
    path: env["PATH"] ?? "",
    toFile: (text) => files.make(`script-${name}`, text),
  });
  const bare = { ...command, ...prompt, cwd, env };
  if (sandbox === undefined) return { command: bare, output };
  const held = await sandbox.around(bare, { output, umask: host.umask });
  return { command: held, output, sandbox };
}

/** A file with the goal of the task, as a prompt would have it; `undefined` if there is none. */
async function goalFile(name: string, context: TaskContext): Promise<string | undefined> {
  if (context.goal === undefined) return undefined;
  const text = await renderPrompt(compileTemplate("{{ goal }}"), promptSources(context));
  return await context.files.make(`goal.${name}`, utf8(text));
}

/** What fills in a prompt. */
function promptSources({ scope, evaluator, goal }: TaskContext) {
  return { scope, evaluator, ...defined({ goal: goal?.template }), newWord: secretWord };
}

/** Delivers the prompt in the way the agent expects; nothing for a step without an agent. */
async function promptOf(
  { agent, prompt }: PlannedStep,
  context: TaskContext,
  { name, opening, given }: {
    readonly name: string;
    readonly opening: string;
    readonly given: GivenMessages;
  },
): Promise<DeliveredPrompt> {
  if (agent === undefined) return { env: {} };
  const sources = { ...promptSources(context), more: promptPieces(given) };
  const text = await renderPrompt(compileTemplate(prompt ?? ""), sources);
  const toFile = (bytes: Uint8Array) => context.files.make(name, bytes);
  return await deliverPrompt(opening + text, { by: agent.promptDelivery, toFile });
}

async function workdirOf(step: PlannedStep, context: TaskContext): Promise<string> {
  if (step.workdir === undefined) return context.directory;
  const template = compileTemplate(step.workdir);
  const inside = await renderTemplate(template, context.scope, context.evaluator);
  const path = resolve(context.directory, inside);
  const real = await realDirectory(path);
  // The author of the workflow may name any path; text from outside must not lead out of the workspace.
  const fromOutside = template.parts.some((part) => typeof part !== "string");
  const home = await realDirectory(context.directory);
  if (fromOutside && real !== home && !real.startsWith(`${home}/`)) {
    throw new AppError("invalid", `The working directory "${path}" is not in the workspace`);
  }
  return path;
}

/** The real path of a directory, with links resolved. */
async function realDirectory(path: string): Promise<string> {
  const fail = (why: string) =>
    new AppError("invalid", `The working directory "${path}" cannot be used: ${why}`);
  try {
    const real = await Deno.realPath(path);
    if ((await Deno.stat(real)).isDirectory) return real;
  } catch (error) {
    throw fail(messageOf(error));
  }
  throw fail("it is not a directory");
}
