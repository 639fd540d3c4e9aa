/**
 * Runs one claimed task: its steps in order, each recorded before and after, until one fails or all
 * have run. Says how the task ended; the worker stores that.
 *
 * @module
 */

import { join, resolve } from "node:path";
import { findText } from "../base/bytes.ts";
import type { Clock } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { findDurationSecs } from "../base/duration.ts";
import { AppError, messageOf } from "../base/errors.ts";
import { type JsonObject, parseJson } from "../base/json.ts";
import type { Evaluator } from "../cel/evaluator.ts";
import { type Scope, scopeOf } from "../cel/expression.ts";
import { compileTemplate, renderTemplate } from "../cel/template.ts";
import type { RunTokens } from "../base/run_tokens.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { Resource } from "../resources/resource.ts";
import type { SecretStoreSpec } from "../resources/secret_store.ts";
import type { Step } from "../resources/workflow.ts";
import type { ProcessGroups } from "../shell/process_groups.ts";
import { runShell, type ShellExit } from "../shell/run_shell.ts";
import type { Store } from "../store/store.ts";
import type { ClaimedTask, StepRecord } from "../store/task_records.ts";
import { insist } from "./insist.ts";
import type { Plan } from "./plan.ts";
import { fillEnv, type InheritedEnv } from "./step_env.ts";
import { logPath, TaskLog } from "./task_log.ts";

/** What running a task needs. */
export interface RunHost {
  /** Where steps are recorded. */
  readonly store: Store;
  /** Holds the secrets. */
  readonly catalog: Catalog;
  /** Runs templates. */
  readonly evaluator: Evaluator;
  /** Ends what steps leave behind. */
  readonly groups: ProcessGroups;
  /** The time. */
  readonly clock: Clock;
  /** Where logs and payload files go. */
  readonly dirs: DataDir;
  /** Rights of the steps. */
  readonly tokens: RunTokens;
  /** What steps inherit. */
  readonly inherited: InheritedEnv;
  /** File mode mask the daemon was started with. */
  readonly umask: number;
}

/** How a run ended; `interrupted` means that the daemon is going down and the task will go on. */
export interface TaskResult {
  /** How. */
  readonly state: "succeeded" | "failed" | "interrupted";
  /** Why; empty when there is nothing to say. */
  readonly reason: string;
}

/** How long a step has between TERM and KILL. */
const GRACE_MS = 5000;

/** Name of the variable that marks every process of a task, in whatever group it is. */
export const TASK_MARK = "SVC_TASK_ID";

/** Runs a task to its end, or until `signal` aborts. Throws only for bugs and a store that is gone. */
export async function runTask(
  claimed: ClaimedTask,
  host: RunHost,
  signal: AbortSignal,
): Promise<TaskResult> {
  const plan = JSON.parse(claimed.plan) as Plan;
  const directory = join(host.dirs.run, claimed.task.id);
  await Deno.mkdir(directory, { recursive: true });
  await Deno.writeFile(join(directory, "payload.json"), claimed.payload, { mode: 0o600 });
  try {
    const { id: taskId, project } = claimed.task;
    using grant = host.tokens.issue({ kind: "step", project, taskId });
    using log = new TaskLog(logPath(host.dirs.logs, claimed.task.id), host.clock);
    const run = new TaskRun(claimed, { plan, host, log, directory, signal, token: grant.token });
    return await run.steps();
  } finally {
    await Deno.remove(directory, { recursive: true }).catch(() => {});
  }
}

interface RunContext {
  readonly plan: Plan;
  readonly host: RunHost;
  readonly log: TaskLog;
  readonly directory: string;
  readonly signal: AbortSignal;
  readonly token: string;
}

class TaskRun {
  readonly #claimed: ClaimedTask;
  readonly #context: RunContext;
  readonly #scope: Scope;
  readonly #deadline: number | undefined;

  constructor(claimed: ClaimedTask, context: RunContext) {
    this.#claimed = claimed;
    this.#context = context;
    this.#scope = taskScope(claimed);
    const secs = context.plan.timeout === undefined
      ? undefined
      : findDurationSecs(context.plan.timeout);
    this.#deadline = secs === undefined ? undefined : context.host.clock.now() + secs * 1000;
  }

  async steps(): Promise<TaskResult> {
    for (const [position, step] of this.#context.plan.steps.entries()) {
      if (this.#claimed.task.steps[position]?.state === "succeeded") continue; // kept from before
      const record = await this.#step(step, position);
      if (record === undefined) return { state: "interrupted", reason: "" };
      if (record.state !== "succeeded") {
        return { state: "failed", reason: `step "${step.id}": ${record.reason}` };
      }
    }
    return { state: "succeeded", reason: "" };
  }

  /** Runs one step and stores how it ended; `undefined` when it was interrupted. */
  async #step(step: Step, position: number): Promise<StepRecord | undefined> {
    const { store, clock } = this.#context.host;
    const base = { position, id: step.id, startedAt: clock.now() };
    const save = async (record: StepRecord) => {
      const { signal } = this.#context;
      await insist(() => store.saveStep(this.#claimed.task.id, record), signal);
      return record;
    };
    try {
      const exit = await this.#run(
        step,
        (group) =>
          void save({ ...base, state: "running", reason: "", processGroup: group }).catch(() => {}),
      );
      if (exit.endedFor === "signal") {
        await save({ position, id: step.id, state: "pending", reason: "interrupted" });
        return undefined;
      }
      const reason = whyFailed(exit);
      const state = reason === "" ? "succeeded" : "failed";
      return await save({ ...base, state, reason, exitCode: exit.code, finishedAt: clock.now() });
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "invalid") throw error;
      const reason = error.message;
      return await save({ ...base, state: "failed", reason, finishedAt: clock.now() });
    }
  }

  async #run(step: Step, onStart: (group: number) => void): Promise<ShellExit> {
    const { plan, host, log, directory, signal, token } = this.#context;
    const sources = {
      evaluator: host.evaluator,
      catalog: host.catalog,
      project: this.#claimed.task.project,
    };
    const blocks = [plan.workspace.env, plan.env, step.env ?? {}];
    const filled = await fillEnv(blocks, this.#scope, sources);
    const sink = log.step(step.id, this.#secrets());
    const timeoutMs = this.#timeoutMs(step);
    const exit = await runShell({
      line: step.run,
      cwd: await this.#workdir(step),
      env: {
        ...host.inherited.variables,
        ...filled,
        ...taskVariables(this.#claimed, host.dirs.root, directory),
        SVC_RUN_TOKEN: token,
      },
      umask: host.umask,
      graceMs: GRACE_MS,
      signal,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      onOutput: sink.write,
      onStart,
    }, host.groups);
    await sink.end();
    if (exit.endedFor !== undefined) await host.groups.endMarked(TASK_MARK, this.#claimed.task.id);
    return exit;
  }

  /** Every secret of the project: one step may leave a value where another prints it. */
  #secrets(): readonly string[] {
    const stores = this.#context.host.catalog.list("SecretStore", this.#claimed.task.project);
    return (stores as Resource<SecretStoreSpec>[]).flatMap(({ spec }) => Object.values(spec.data));
  }

  /** The step's own limit or what is left of the task's, whichever is shorter. */
  #timeoutMs(step: Step): number | undefined {
    const own = step.timeout === undefined ? undefined : findDurationSecs(step.timeout);
    const left = this.#deadline === undefined
      ? Infinity
      : Math.max(1, this.#deadline - this.#context.host.clock.now());
    const least = Math.min(own === undefined ? Infinity : own * 1000, left);
    return least === Infinity ? undefined : least;
  }

  async #workdir(step: Step): Promise<string> {
    const { plan, host } = this.#context;
    const template = compileTemplate(step.workdir ?? "");
    const inside = await renderTemplate(template, this.#scope, host.evaluator);
    const path = resolve(plan.workspace.path, inside);
    const real = await realDirectory(path);
    // What the author wrote may lie anywhere; what came from outside stays in the workspace.
    const fromOutside = template.parts.some((part) => typeof part !== "string");
    const home = await realDirectory(plan.workspace.path);
    if (fromOutside && real !== home && !real.startsWith(`${home}/`)) {
      throw new AppError("invalid", `The working directory "${path}" is not in the workspace`);
    }
    return path;
  }
}

/** The real path of a directory, links followed. */
async function realDirectory(path: string): Promise<string> {
  const fail = (why: string) =>
    new AppError("invalid", `The working directory "${path}" cannot be used: ${why}`);
  try {
    const real = await Deno.realPath(path);
    if ((await Deno.stat(real)).isDirectory) return real;
  } catch (error) {
    throw fail(messageOf(error));
  }
  throw fail("it is no directory");
}

function whyFailed(exit: ShellExit): string {
  if (exit.endedFor === "timeout") return "timed out";
  if (exit.killedBy !== undefined) return `killed by ${exit.killedBy}`;
  return exit.code === 0 ? "" : `exit code ${exit.code}`;
}

function taskVariables(claimed: ClaimedTask, dataDir: string, directory: string) {
  const { task } = claimed;
  return {
    [TASK_MARK]: task.id,
    SVC_TRIGGER: task.trigger,
    SVC_PROJECT: task.project,
    SVC_WORKFLOW: task.workflow,
    SVC_WORKSPACE: task.workspace,
    SVC_DELIVERY_ID: task.deliveryId,
    SVC_DATA_DIR: dataDir,
    SVC_PAYLOAD_FILE: join(directory, "payload.json"),
  };
}

/** The variables templates see while a task runs (contract 2, CEL). */
function taskScope(claimed: ClaimedTask): Scope {
  const { task, payload, headers } = claimed;
  const text = findText(payload) ?? "{}";
  const variables: JsonObject = {
    payload: parseJson(text === "" ? "{}" : text),
    headers,
    trigger: { name: task.trigger, project: task.project },
    delivery: { id: task.deliveryId },
    task: { id: task.id, workflow: task.workflow, workspace: task.workspace },
  };
  return scopeOf(variables);
}
