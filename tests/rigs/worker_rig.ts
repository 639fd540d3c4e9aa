/**
 * A worker over a real store and real processes.
 *
 * @module
 */

import type { DataDir } from "../../src/base/data_dir.ts";
import { withTaskRunning } from "../../src/daemon/execution.ts";
import type { Catalog } from "../../src/resources/catalog.ts";
import type { TriggerSpec } from "../../src/resources/trigger.ts";
import { openStore } from "../../src/store/sqlite/open_store.ts";
import type { Events } from "../../src/store/events.ts";
import type { Store } from "../../src/store/store.ts";
import type { NewTask, Task } from "../../src/store/task_records.ts";
import { Planner } from "../../src/tasks/plan.ts";
import { inheritEnv } from "../../src/tasks/step/inherited_env.ts";
import { readLog } from "../helpers/read_log.ts";
import { NO_LIMITS } from "./run_rig.ts";
import { openWorker, type TaskWorker, type WorkerHost } from "../../src/tasks/run/worker.ts";
import { until } from "../helpers/until.ts";
import { manifestResources } from "./webhook_rig.ts";
import { accept, taskIdOf } from "../helpers/store_records.ts";
import { executionState } from "./execution_state.ts";
import { within } from "../helpers/within.ts";
import { skippable } from "../helpers/requirements.ts";

export interface Rig extends AsyncDisposable {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly dirs: DataDir;
  /** Directory of the workspace. */
  readonly workspace: string;
  readonly logged: string[];
  readonly events: Events;
  /** Starts a worker, which ends with the rig unless it is ended before. */
  start(workers?: number, broken?: Partial<Store>, host?: Partial<WorkerHost>): Promise<TaskWorker>;
  /** Queues task `n` with this workflow (`spec`, as YAML); the worker still has to be kicked. */
  queue(
    n: number,
    workflow: string,
    payload?: string | Uint8Array,
    task?: Partial<NewTask>,
  ): Promise<string>;
  /** The task once it has ended. */
  ended(id: string): Promise<Task>;
  /** Output of the steps, by stream. */
  printed(id: string, step?: string): Promise<{ out: string; err: string }>;
}

/** The secrets of every rig. */
export const SECRETS = `
kind: SecretStore
metadata: {name: tokens}
spec: {data: {api: "s3cr3t-t0k3n/+=", other: "an0ther-value"}}
`;

/** Makes the surroundings of a worker. */
export async function workerRig(): Promise<Rig> {
  const { state, workspace, logged, ...base } = await executionState(manifestResources(SECRETS));
  const { store, catalog, dirs, events } = state;
  const planner = new Planner(catalog);
  const workers: TaskWorker[] = [];
  const env = (name: string) => ({ HOME: "/home/of/daemon", PATH: "/usr/bin:/bin" })[name];
  const stepEnv = inheritEnv(env, { bin: dirs.bin, extra: [] });
  return {
    store,
    catalog,
    dirs,
    workspace,
    logged,
    events,
    async start(workerCount = 2, broken = {}, more = {}) {
      const worker = await openWorker({
        ...withTaskRunning(state, { ...NO_LIMITS, stepEnv, env }),
        workers: workerCount,
        isFollowed: () => false,
        store: { ...store, ...broken },
        ...more,
      });
      workers.push(worker);
      worker.listen();
      return worker;
    },
    async queue(n, workflow, payload = `{"n":${n},"text":"hello"}`, task = {}) {
      const put = manifestResources(`
kind: Workflow
metadata: {name: ci}
spec: ${workflow}
---
kind: Workspace
metadata: {name: repo}
spec: {path: repo, env: {LEVEL: workspace, FROM: workspace}}
---
kind: Trigger
metadata: {name: push}
spec: {event: {source: webhook}, action: {workflow: ci, workspace: repo}}
`);
      catalog.change(put.map((resource) => ({ op: "put", resource })));
      const trigger = catalog.find<TriggerSpec>("Trigger", "default", "push");
      if (trigger === undefined) throw new Error("no trigger");
      const { plan } = planner.plan(trigger);
      const body = typeof payload === "string" ? new TextEncoder().encode(payload) : payload;
      await accept(store, n, { plan, body, headers: { "x-github-event": "push" }, task });
      return taskIdOf(n);
    },
    ended: (id) =>
      until(`the end of task ${id}`, async () => {
        const [task] = await store.findTasks(id);
        return task?.finishedAt === undefined ? undefined : task;
      }),
    async printed(id, step) {
      const { chunks } = await readLog(state.logs.of(id), 0);
      const of = (stream: "out" | "err" | "svc") =>
        new Blob(
          chunks.filter((one) => one.stream === stream && (step ?? one.step) === one.step)
            .map(({ bytes }) => bytes as BlobPart),
        ).text();
      return { out: await of("out"), err: await of("err") };
    },
    async [Symbol.asyncDispose]() {
      for (const worker of workers) await within(20_000, worker[Symbol.asyncDispose]());
      await base[Symbol.asyncDispose]();
    },
  };
}

/** Claims a task in the name of another daemon, as one that crashes right after that leaves it. */
export async function claimAndCrash({ dirs }: Pick<Rig, "dirs">): Promise<void> {
  await using other = await openStore(dirs.database);
  await other.claimTasks(1, Date.now());
}

/** Takes over what runs in the name of another daemon, which crashes right after that. */
export async function takeOverAndCrash({ dirs }: Pick<Rig, "dirs">): Promise<void> {
  await using other = await openStore(dirs.database);
  await other.claimInterrupted();
}

/** A test with a rig of its own. */
export function testWithRig(
  name: string,
  body: (rig: Rig) => Promise<void>,
  { skip }: { readonly skip?: string | undefined } = {},
): void {
  Deno.test(skippable(name, skip), async () => {
    await using rig = await workerRig();
    await body(rig);
  });
}
