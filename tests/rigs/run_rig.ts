/**
 * Runs tasks without a worker, over a real store and real processes: the rig queues a task as a
 * webhook does, and the test hands it to `runTask`.
 *
 * @module
 */

import type { DataDir } from "../../src/base/data_dir.ts";
import { defined } from "../../src/base/defined.ts";
import { withTaskRunning } from "../../src/daemon/execution.ts";
import type { Catalog } from "../../src/resources/catalog.ts";
import type { TriggerSpec } from "../../src/resources/trigger.ts";
import type { Store } from "../../src/store/store.ts";
import type { ClaimedTask, StepRecord, Task } from "../../src/store/task_records.ts";
import type { LogStream } from "../../src/tasks/log/log_format.ts";
import { Planner } from "../../src/tasks/plan.ts";
import { runTask } from "../../src/tasks/run/run_task.ts";
import type { RunHost, TaskResult } from "../../src/tasks/run/task_context.ts";
import { inheritEnv } from "../../src/tasks/step/inherited_env.ts";
import { readLog } from "../helpers/read_log.ts";
import { manifestResources } from "./webhook_rig.ts";
import { accept, taskIdOf } from "../helpers/store_records.ts";
import { type ExecutionState, executionState } from "./execution_state.ts";
import { within } from "../helpers/within.ts";

/** Documents beside the workflow, and the event of the task. */
export interface TaskParts {
  /** More documents, as YAML. */
  readonly more?: string;
  /** Template of the goal. */
  readonly goal?: string;
  /** `spec` of the workspace, as YAML; the directory `repo` when absent. */
  readonly workspace?: string;
  readonly payload?: string;
  /** Headers of the delivery, by name. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Signals that end a run. */
export interface StopSignals {
  readonly stop?: AbortSignal;
  readonly cancel?: AbortSignal;
}

/** A store, a workspace and the host of a run. */
export class RunRig implements AsyncDisposable {
  readonly dirs: DataDir;
  readonly store: Store;
  readonly host: RunHost;
  readonly catalog: Catalog;
  /** Directory of the workspace. */
  readonly workspace: string;
  readonly #base: AsyncDisposable;
  #count = 0;

  /** Closes `base` at its end. */
  constructor(base: ExecutionState, host: RunHost) {
    const { dirs, store, catalog } = base.state;
    this.dirs = dirs;
    this.host = host;
    this.store = store;
    this.catalog = catalog;
    this.workspace = base.workspace;
    this.#base = base;
  }

  /** Queues a task of this workflow (`spec`, as YAML) and claims it. */
  async claim(workflow: string, given: TaskParts = {}): Promise<ClaimedTask> {
    const action = {
      workflow: "ci",
      workspace: "repo",
      ...defined({ goal: given.goal }),
    };
    const put = manifestResources(`
kind: Workflow
metadata: {name: ci}
spec: ${workflow}
---
kind: Workspace
metadata: {name: repo}
spec: ${given.workspace ?? "{path: repo}"}
---
kind: Trigger
metadata: {name: push}
spec: {event: {source: webhook}, action: ${JSON.stringify(action)}}
${given.more === undefined ? "" : `---\n${given.more}`}
`);
    this.catalog.change(put.map((resource) => ({ op: "put", resource })));
    const trigger = this.catalog.find<TriggerSpec>("Trigger", "default", "push");
    if (trigger === undefined) throw new Error("no trigger");
    const { plan, missing } = new Planner(this.catalog).plan(trigger);
    if (plan === undefined) throw new Error(missing);
    const n = ++this.#count;
    const body = new TextEncoder().encode(given.payload ?? `{"n":${n}}`);
    await accept(this.store, n, { plan, body, headers: given.headers ?? {} });
    return await this.reclaim(taskIdOf(n));
  }

  /** Claims a task that waits, as after a restart. */
  async reclaim(id: string): Promise<ClaimedTask> {
    const { tasks } = await this.store.claimTasks(10, Date.now());
    const found = tasks.find(({ task }) => task.id === id);
    if (found === undefined) throw new Error(`task ${id} does not wait`);
    return found;
  }

  /** Runs a claimed task. The ends of its steps are stored, its own is not. */
  async run(claimed: ClaimedTask, stops: StopSignals = {}, host = this.host): Promise<TaskResult> {
    const never = new AbortController().signal;
    const { stop = never, cancel = never } = stops;
    const result = await within(60_000, runTask(claimed, host, { stop, cancel }));
    const { steps = [], ...end } = result;
    for (const step of steps) await this.host.store.saveStep(claimed.task.id, step);
    return end;
  }

  /** Queues, claims and runs; gives how it ended, with the task as it is stored then. */
  async all(
    workflow: string,
    given: TaskParts = {},
  ): Promise<TaskResult & { readonly task: Task }> {
    const claimed = await this.claim(workflow, given);
    const result = await this.run(claimed);
    return { ...result, task: await this.task(claimed.task.id) };
  }

  /** A task as it is stored. */
  async task(id: string): Promise<Task> {
    const [task] = await this.store.findTasks(id);
    if (task === undefined) throw new Error(`no task ${id}`);
    return task;
  }

  /** All that steps printed. */
  async printed(id: string, step?: string, stream: LogStream = "out"): Promise<string> {
    const { chunks } = await readLog(this.host.logs.of(id), 0);
    const some = chunks.filter((one) => one.stream === stream && (step ?? one.step) === one.step);
    return await new Blob(some.map(({ bytes }) => bytes as BlobPart)).text();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#base[Symbol.asyncDispose]();
  }
}

/** Settings of a daemon that leaves all limits to manifests. */
export const NO_LIMITS = {
  umask: 0o022,
  timeLimits: {},
  settings: { requireSandbox: "none" },
} as const;

/** Makes the surroundings of a task. */
export async function runRig(secrets: Readonly<Record<string, string>> = {}): Promise<RunRig> {
  const data = { kind: "SecretStore", metadata: { name: "tokens" }, spec: { data: secrets } };
  const isEmpty = Object.keys(secrets).length === 0;
  const base = await executionState(isEmpty ? [] : manifestResources(JSON.stringify(data)));
  const { dirs } = base.state;
  const env = (name: string) => Deno.env.get(name);
  const stepEnv = inheritEnv(env, { bin: dirs.bin, extra: [] });
  return new RunRig(base, withTaskRunning(base.state, { ...NO_LIMITS, stepEnv, env }));
}

/** Steps as text: `a succeeded`, with the reason if there is one. */
export function stepsOf(records: readonly StepRecord[]): string[] {
  return records.map(({ id, state, reason }) =>
    `${id} ${state}${reason === "" ? "" : `: ${reason}`}`
  );
}
