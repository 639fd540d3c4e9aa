/**
 * One attempt at a step: its environment, its prompt if it runs an agent, its process, and its
 * outputs. Text from outside reaches the process only as a variable, an argument, a file or
 * standard input.
 *
 * @module
 */

import { resolve } from "node:path";
import { findDurationSecs } from "../../base/duration.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import { compileTemplate, renderTemplate } from "../../cel/template.ts";
import { runShell, type ShellExit } from "../../shell/run_shell.ts";
import type { StepRecord } from "../../store/task_records.ts";
import type { CancellationScope } from "../cancellation_scope.ts";
import type { PlannedStep } from "../plan.ts";
import { renderPrompt } from "../step/prompt.ts";
import { commandOf } from "../step/step_command.ts";
import { type DeliveredPrompt, deliverPrompt } from "../step/prompt_delivery.ts";
import { fillEnv } from "../step/step_env.ts";
import { readOutputs } from "../step/step_outputs.ts";
import type { StepLog } from "../log/task_log.ts";
import type { TaskContext } from "./task_context.ts";

/** A step with its position. */
export interface PositionedStep {
  readonly step: PlannedStep;
  /** Position among all steps of the task. */
  readonly position: number;
  /** Time limit in seconds where neither the step nor its agent has one; none when absent. */
  readonly defaultTimeoutSecs?: number;
}

/** One attempt. */
export interface Attempt {
  readonly context: TaskContext;
  /** Ends it before its time. */
  readonly cancellation: CancellationScope;
  /** Number of the attempt, from 1. */
  readonly number: number;
  /** Receives the output. */
  readonly log: StepLog;
  /** Called with the process group as soon as it exists. */
  readonly onStart: (group: number) => void;
}

/** Result of an attempt; `pending` when the daemon stops and the attempt has to be made again. */
export type AttemptResult = Pick<StepRecord, "reason" | "exitCode" | "outputs"> & {
  readonly state: "succeeded" | "failed" | "cancelled" | "pending";
};

/** Time of a step between TERM and KILL. */
const GRACE_MS = 5000;

/** Variable that marks every process of one attempt, whatever its group. */
const ATTEMPT_MARK = "SVC_STEP_RUN";

/** Runs a step once. Throws only for bugs, and when the store or the disk fails. */
export async function attemptStep(
  positioned: PositionedStep,
  attempt: Attempt,
): Promise<AttemptResult> {
  try {
    return await runProcess(positioned, attempt);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "invalid") throw error;
    return { state: "failed", reason: error.message };
  }
}

async function runProcess(
  { step, position, defaultTimeoutSecs }: PositionedStep,
  { context, cancellation, number, log, onStart }: Attempt,
): Promise<AttemptResult> {
  const { host, plan, claimed, files } = context;
  const name = `${position}.${number}`;
  const mark = `${claimed.task.id}.${name}`;
  const sources = {
    evaluator: context.evaluator,
    catalog: host.catalog,
    project: claimed.task.project,
  };
  const blocks = [plan.workspace.env, plan.env, step.agent?.env ?? {}, step.env ?? {}];
  const filled = await fillEnv(blocks, context.scope, sources);
  const cwd = await workdirOf(step, context);
  const { env, ...prompt } = await promptOf(step, context, `prompt.${name}`);
  const output = await files.makeEmpty();
  const variables: Record<string, string> = {
    ...host.inherited.variables,
    ...filled,
    ...env,
    ...context.variables,
    SVC_STEP: step.id,
    SVC_ATTEMPT: String(number),
    SVC_OUTPUT: output,
    [ATTEMPT_MARK]: mark,
  };
  const command = await commandOf(step, {
    cwd,
    path: variables["PATH"] ?? "",
    toFile: (text) => files.make(`script-${position}-${number}`, text),
  });
  const limit = step.timeout ?? step.agent?.timeout ?? defaultTimeoutSecs;
  const timeoutSecs = limit === undefined ? undefined : findDurationSecs(limit);
  if (cancellation.why !== undefined) return endedFor(cancellation);

  const exit = await runShell({
    ...command,
    stopOnError: true,
    ...prompt,
    cwd,
    env: variables,
    umask: host.umask,
    graceMs: GRACE_MS,
    signal: cancellation.signal,
    ...(timeoutSecs === undefined ? {} : { timeoutMs: timeoutSecs * 1000 }),
    onOutput: (stream, chunk) => log.write(stream, chunk),
    onStart,
  }, host);
  await log.end();
  if (exit.endedFor !== undefined) await host.groups.endMarked(ATTEMPT_MARK, mark);
  const outputs = await takeOutputs(output, log);
  const verdict = exit.endedFor === "signal" ? endedFor(cancellation) : judge(exit);
  return { ...verdict, exitCode: exit.code, ...(outputs === undefined ? {} : { outputs }) };
}

/** State of a step whose attempt was ended early, or not started, because of its task. */
function endedFor({ why }: CancellationScope): AttemptResult {
  switch (why) {
    case "cancel":
      return { state: "cancelled", reason: "cancelled" };
    case "timeout":
      return { state: "failed", reason: "timed out" };
    default:
      return { state: "pending", reason: "" };
  }
}

function judge(exit: ShellExit): AttemptResult {
  if (exit.endedFor === "timeout") return { state: "failed", reason: "timed out" };
  if (exit.killedBy !== undefined) return { state: "failed", reason: `killed by ${exit.killedBy}` };
  if (exit.code === 0) return { state: "succeeded", reason: "" };
  return { state: "failed", reason: `exit code ${exit.code}${HINTS[exit.code] ?? ""}` };
}

/** Explanations of exit codes that the shell itself gives. */
const HINTS: Readonly<Record<number, string>> = {
  126: " (the command cannot be run)",
  127: " (command not found)",
};

/** Delivers the prompt in the way the agent expects; nothing for a step without an agent. */
async function promptOf(
  { agent, prompt }: PlannedStep,
  context: TaskContext,
  name: string,
): Promise<DeliveredPrompt> {
  if (agent === undefined) return { env: {} };
  const text = await renderPrompt(compileTemplate(prompt ?? ""), {
    scope: context.scope,
    evaluator: context.evaluator,
    ...(context.goal === undefined ? {} : { goal: context.goal.template }),
    newWord: () => crypto.randomUUID().replaceAll("-", ""),
  });
  const toFile = (bytes: Uint8Array) => context.files.make(name, bytes);
  return await deliverPrompt(text, { by: agent.promptDelivery, toFile });
}

/** Reads the outputs of the step. */
async function takeOutputs(
  path: string,
  log: StepLog,
): Promise<Record<string, string> | undefined> {
  const { outputs, problems } = await readOutputs(path);
  for (const problem of problems) await log.note(problem);
  return Object.keys(outputs).length === 0 ? undefined : outputs;
}

async function workdirOf(step: PlannedStep, context: TaskContext): Promise<string> {
  if (step.workdir === undefined) return context.directory;
  const template = compileTemplate(step.workdir);
  const inside = await renderTemplate(template, context.scope, context.evaluator);
  const path = resolve(context.directory, inside);
  const real = await realDirectory(path);
  // A path that the author wrote may lie anywhere; one from outside must stay in the workspace.
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
