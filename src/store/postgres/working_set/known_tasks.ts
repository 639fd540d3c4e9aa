/**
 * The tasks of the working set, and which of them the job queue has to be told of.
 *
 * @module
 */

import type { JobChanges } from "./changes.ts";
import type { Facts } from "./facts.ts";
import { type KnownTask, toKnownTask } from "./known_task.ts";
import { KnownRooms } from "./known_rooms.ts";
import { Missing, type Wanted } from "./wanted.ts";

/** What the job queue has of a task: nothing, a job to be taken, or one that a worker has taken. */
type Job = "none" | "ready" | "taken";

/** All that were loaded or are stored by the batch. */
export class KnownTasks {
  readonly rooms: KnownRooms;
  readonly #wanted: Wanted;
  readonly #tasks = new Map<string, KnownTask>();
  readonly #debounced = new Map<string, KnownTask>();
  /** What the queue had of each task that has changed. */
  readonly #jobs = new Map<KnownTask, Job>();

  constructor(wanted: Wanted, { tasks, groups, workspaces }: Facts) {
    this.#wanted = wanted;
    this.rooms = new KnownRooms(groups, workspaces);
    for (const fact of tasks) {
      const task = toKnownTask(fact);
      this.#tasks.set(task.id, task);
      this.rooms.addLoaded(task);
      if (fact.debounce !== null && isJoinable(task)) this.#debounced.set(fact.debounce, task);
    }
  }

  /** A stored task; `undefined` where there is none. */
  find(id: string): KnownTask | undefined {
    const task = this.#tasks.get(id);
    if (task !== undefined || this.#wanted.hasTask(id)) return task;
    throw new Missing((wanted) => wanted.addTask(id));
  }

  /** A task that is known to be stored. */
  get(id: string): KnownTask {
    const task = this.find(id);
    if (task === undefined) throw new Error(`Task ${id} is not stored`);
    return task;
  }

  /** A task if it was loaded, whatever for. */
  peek(id: string): KnownTask | undefined {
    return this.#tasks.get(id);
  }

  /** The waiting task of a debounce key that has never started. */
  findDebounced(digest: Uint8Array): KnownTask | undefined {
    if (!this.#wanted.hasDebounced(digest)) {
      throw new Missing((wanted) => wanted.addDebounced(digest));
    }
    const task = this.#debounced.get(digest.toHex());
    return task !== undefined && isJoinable(task) ? task : undefined;
  }

  /** Adds a task that the batch stores. */
  add(task: KnownTask, debounce?: Uint8Array): void {
    this.#tasks.set(task.id, task);
    this.rooms.addNew(task);
    this.#jobs.set(task, "none");
    if (debounce !== undefined && isJoinable(task)) this.#debounced.set(debounce.toHex(), task);
  }

  /** Changes a task. */
  change(task: KnownTask, how: Partial<KnownTask>): void {
    if (!this.#jobs.has(task)) this.#jobs.set(task, jobOf(task));
    this.rooms.change(task, how);
  }

  /** What the changes mean for the jobs. */
  jobChanges(): JobChanges {
    const changed = (is: (before: Job, after: Job) => boolean) =>
      [...this.#jobs].filter(([task, before]) => is(before, jobOf(task))).map(([{ id }]) => id);
    return {
      add: changed((before, after) => before === "none" && after === "ready"),
      end: changed((before, after) => before !== "none" && after === "none"),
      putBack: changed((before, after) => before === "taken" && after === "ready"),
    };
  }
}

function isJoinable({ state, hasStarted }: KnownTask): boolean {
  return state === "pending" && !hasStarted;
}

function jobOf({ state, waitsFor }: KnownTask): Job {
  if (state === "running") return "taken";
  return state === "pending" && waitsFor === "none" ? "ready" : "none";
}
