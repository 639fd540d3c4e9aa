/**
 * The tasks of the working set, and what their changes mean for the job queue.
 *
 * @module
 */

import { type JobActions, jobActions, type JobState } from "../../rules/placement.ts";
import type { JobChanges } from "./changes.ts";
import type { Facts } from "./facts.ts";
import { type KnownTask, toKnownTask } from "./known_task.ts";
import { KnownLimits } from "./known_limits.ts";
import { type BatchRequest, MissingFact } from "./batch_request.ts";

/** The tasks that were loaded, and those that the batch stores. */
export class KnownTasks {
  readonly limits: KnownLimits;
  readonly #request: BatchRequest;
  readonly #tasks = new Map<string, KnownTask>();
  readonly #debounced = new Map<string, KnownTask>();
  /** The job that each changed task had before the batch. */
  readonly #jobs = new Map<KnownTask, JobState>();

  constructor(request: BatchRequest, { tasks, groups, workspaces }: Facts) {
    this.#request = request;
    this.limits = new KnownLimits(groups, workspaces);
    for (const fact of tasks) {
      const task = toKnownTask(fact);
      this.#tasks.set(task.id, task);
      this.limits.addLoaded(task);
      if (fact.debounce !== null && isJoinable(task)) this.#debounced.set(fact.debounce, task);
    }
  }

  /** A stored task; `undefined` if there is none. */
  find(id: string): KnownTask | undefined {
    const task = this.#tasks.get(id);
    if (task !== undefined || this.#request.hasTask(id)) return task;
    throw new MissingFact((request) => request.addTask(id));
  }

  /** Returns a task that is known to be stored. */
  get(id: string): KnownTask {
    const task = this.find(id);
    if (task === undefined) throw new Error(`Task ${id} is not stored`);
    return task;
  }

  /** A task, if it was loaded for any reason. */
  peek(id: string): KnownTask | undefined {
    return this.#tasks.get(id);
  }

  /** The pending task of a debounce key that has never started. */
  findDebounced(digest: Uint8Array): KnownTask | undefined {
    if (!this.#request.hasDebounced(digest)) {
      throw new MissingFact((request) => request.addDebounced(digest));
    }
    const task = this.#debounced.get(digest.toHex());
    return task !== undefined && isJoinable(task) ? task : undefined;
  }

  /** Adds a task that the batch stores. */
  add(task: KnownTask, debounce?: Uint8Array): void {
    this.#tasks.set(task.id, task);
    this.limits.addNew(task);
    this.#jobs.set(task, { job: "none" });
    if (debounce !== undefined && isJoinable(task)) this.#debounced.set(debounce.toHex(), task);
  }

  /** Changes a task, and remembers which job it had before. */
  change(task: KnownTask, how: Partial<KnownTask>): void {
    if (!this.#jobs.has(task)) this.#jobs.set(task, jobOf(task));
    this.limits.change(task, how);
  }

  /** The jobs to add, end or put back because of the changes. */
  jobChanges(): JobChanges {
    const actions = [...this.#jobs].map(([task, before]) => ({
      id: task.id,
      actions: jobActions(before, jobOf(task)),
    }));
    const those = (action: keyof JobActions) =>
      actions.filter(({ actions }) => actions[action]).map(({ id }) => id);
    return { add: those("add"), end: those("end"), putBack: those("putBack") };
  }
}

function isJoinable({ state, hasStarted }: KnownTask): boolean {
  return state === "pending" && !hasStarted;
}

/** The job of a task: none, one that a worker can take, or one that a worker has taken. */
function jobOf({ state, readiness, planHash }: KnownTask): JobState {
  const plan = planHash === undefined ? {} : { planHash };
  if (state === "running") return { job: "taken", ...plan };
  return { job: state === "pending" && readiness === "ready" ? "ready" : "none", ...plan };
}
