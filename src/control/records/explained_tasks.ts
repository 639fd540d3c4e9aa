/**
 * Adds facts to tasks that are not in their rows: what a task waits for, with current numbers, and
 * since when a running task has printed nothing. They are computed only for tasks that are shown.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { PauseStore } from "../../store/pause_store.ts";
import type { NodeStore } from "../../store/node_store.ts";
import type { Task } from "../../store/task_records.ts";
import type { TaskStore } from "../../store/task_store.ts";
import type { WorkerLoad } from "../../tasks/worker_load.ts";
import { type KnownWorkers, type WaitsFor, whatItWaitsFor } from "./waits_for.ts";

/** A task as it is shown. */
export interface ExplainedTask extends Task {
  readonly waitsFor?: WaitsFor;
  /**
   * Milliseconds since the epoch; absent when none of its steps runs, and in a list when another
   * daemon runs it.
   */
  readonly silentSince?: number;
}

/** The workers and logs that explain tasks. */
export interface ExplainingHost {
  readonly clock: Clock;
  readonly worker: { readonly load: () => WorkerLoad };
  /** Set when other daemons share the database. */
  readonly shared?: unknown;
  /** Time of the last output in the log of a task; `undefined` if there is none. */
  readonly lastWrittenAt: (taskId: string) => Promise<number | undefined>;
}

/** A store that explains the tasks that it returns. */
export function explainingTasks<
  Given extends
    & Pick<TaskStore, "listTasks" | "findTasks">
    & Pick<NodeStore, "listNodes">
    & Pick<PauseStore, "listPauses" | "listProjectRooms">,
>(store: Given, host: ExplainingHost): Given {
  const explain = async (tasks: readonly Task[]): Promise<ExplainedTask[]> => {
    const load = host.worker.load();
    const running = new Map(load.running.map((one) => [one.id, one]));
    const isForWorker = tasks.some(({ readiness }) =>
      readiness !== undefined && readiness.is !== "queued"
    );
    const now = host.clock.now();
    const known: KnownWorkers = {
      now,
      ...(isForWorker
        ? { pauses: await store.listPauses(now), rooms: await store.listProjectRooms() }
        : {}),
      own: { ...load, busy: running.size },
      ...(isForWorker && host.shared !== undefined ? { nodes: await store.listNodes() } : {}),
    };
    return tasks.map((task) => {
      const waitsFor = whatItWaitsFor(task, known);
      const { silentSince } = running.get(task.id) ?? {};
      return {
        ...task,
        ...defined({ waitsFor }),
        ...(silentSince === undefined || task.state !== "running" ? {} : { silentSince }),
      };
    });
  };
  /** When another daemon runs the task, its log says since when it is silent. */
  const fromLog = async (task: ExplainedTask): Promise<ExplainedTask> => {
    if (host.shared === undefined || task.silentSince !== undefined) return task;
    const began = task.state !== "running"
      ? []
      : task.steps.flatMap(({ state, startedAt }) =>
        state === "running" && startedAt !== undefined ? [startedAt] : []
      );
    if (began.length === 0) return task;
    const written = await host.lastWrittenAt(task.id) ?? 0;
    return { ...task, silentSince: Math.max(written, ...began) };
  };
  return {
    ...store,
    listTasks: async (query) => await explain(await store.listTasks(query)),
    findTasks: async (prefix) =>
      await Promise.all((await explain(await store.findTasks(prefix))).map(fromLog)),
  };
}
