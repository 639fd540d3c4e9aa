/**
 * Fires triggers when tasks end. An end stays on disk until it has been handled, and the ids of its
 * events are derived from it, so that a crash neither loses nor repeats an event.
 *
 * @module
 */

import type { Core } from "../base/core.ts";
import { AppError } from "../base/errors.ts";
import { eventId } from "../base/ids.ts";
import type { JsonObject } from "../base/json.ts";
import { SerialRunner } from "../base/serial_runner.ts";
import type { Catalog } from "../resources/catalog.ts";
import { DEFAULT_STATES, meansTask } from "../resources/event_task.ts";
import type { Resource } from "../resources/resource.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { Events } from "../store/events.ts";
import type { NewMessage } from "../store/outbox_records.ts";
import type { TaskEndStore, TaskStore } from "../store/task_store.ts";
import type { Task, TaskNames } from "../store/task_records.ts";
import type { TriggerName, Triggers } from "./admission/triggers.ts";
import { byCurrentResources } from "../store/stale_resources.ts";
import { followUp, type FollowUpHost } from "./follow_up.ts";
import { fire } from "./pipeline/fire.ts";

/** Finds the triggers that fire at the end of tasks. */
export class TaskTriggerIndex {
  readonly #catalog: Catalog;
  #version = -1;
  #byProject = new Map<string, Resource<TriggerSpec>[]>();

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** The triggers that the end of a task fires, whatever its state. */
  of({ project, workflow, trigger }: TaskNames): readonly Resource<TriggerSpec>[] {
    if (this.#version !== this.#catalog.version) this.#read();
    const triggers = this.#byProject.get(project) ?? NONE;
    if (triggers.length === 0) return NONE;
    const labels = [["Workflow", workflow], ["Trigger", trigger]].map(([kind = "", name = ""]) =>
      this.#catalog.find(kind, project, name)?.metadata.labels
    );
    return triggers.filter(({ spec: { event, action } }) =>
      event.task !== undefined &&
      meansTask(event.task, action?.workflow ?? "", { workflow, labels })
    );
  }

  /** Whether there is any such trigger. */
  any(): boolean {
    if (this.#version !== this.#catalog.version) this.#read();
    return this.#byProject.size > 0;
  }

  #read(): void {
    this.#version = this.#catalog.version;
    this.#byProject = new Map();
    for (const trigger of this.#catalog.list("Trigger") as Resource<TriggerSpec>[]) {
      const { project, spec: { event: { source, task } } } = trigger;
      if (source !== "task" || task === undefined) continue;
      this.#byProject.set(project, [...this.#byProject.get(project) ?? NONE, trigger]);
    }
  }
}

const NONE: readonly Resource<TriggerSpec>[] = [];

/** The ends of tasks, and the parts that fire their triggers. */
export interface TaskSourceHost extends FollowUpHost, Core {
  /** Stores ends of tasks, and the events that they fire. */
  readonly store: TaskEndStore & TaskStore & FollowUpHost["store"];
  readonly taskTriggers: TaskTriggerIndex;
  readonly triggers: Triggers;
  /** The answers to the end of a task. */
  readonly answerEnd: (task: Task) => Promise<readonly NewMessage[]>;
  readonly events: Events;
}

/** Ends that are read in one call. */
const BATCH_SIZE = 50;
/** The store announces ends; a poll finds those whose announcement was lost. */
const POLL_INTERVAL_MS = 60_000;

/** Fires the task triggers until disposed. */
export class TaskSource implements AsyncDisposable {
  readonly #host: TaskSourceHost;
  readonly #runner: SerialRunner;
  readonly #timer: Disposable;
  readonly #subscription: Disposable;

  /** Continues with the ends that the previous run left on disk. */
  constructor(host: TaskSourceHost) {
    this.#host = host;
    const { clock, log } = host;
    this.#runner = new SerialRunner({
      run: () => this.#handleEnds(),
      onError: (error) =>
        log.warn(
          "task triggers could not handle the end of a task, trying again in a second",
          { error },
        ),
      clock,
    });
    this.#timer = clock.every(POLL_INTERVAL_MS, () => this.kick());
    this.#subscription = host.events.on("taskEndsStored", () => this.kick());
    this.kick();
  }

  kick(): void {
    this.#runner.kick();
  }

  /** Resolves when every stored end has been handled. */
  async settled(): Promise<void> {
    await this.#runner.settled();
  }

  /** Finishes the ends under way; the others stay on disk. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    this.#subscription[Symbol.dispose]();
    await this.#runner[Symbol.asyncDispose]();
  }

  async #handleEnds(): Promise<undefined> {
    const { store, answerEnd } = this.#host;
    const ends = await store.listTaskEnds(BATCH_SIZE);
    await Promise.all(ends.map(async (task) => {
      await this.#handleEnd(task);
      if (task.unread !== undefined) await followUp(task, this.#host);
      await store.forgetTaskEnd(task.id, await answerEnd(task), task.unread);
    }));
    if (ends.length > 0) this.kick();
  }

  async #handleEnd(task: Task): Promise<void> {
    const { taskTriggers, log } = this.#host;
    // a label of the trigger means the tasks that its events start, not what their steps start
    const isChild = task.rootId !== "";
    for (
      const { project, name, spec } of taskTriggers.of(isChild ? { ...task, trigger: "" } : task)
    ) {
      if (!(spec.event.task?.states ?? DEFAULT_STATES).includes(task.state)) continue;
      if (isChild && isOfAny(spec)) continue;
      if (spec.event.task?.workflow === undefined && await this.#startedBy(name, task)) continue;
      await this.#fire({ project, trigger: name }, task).catch((error) => {
        if (error instanceof AppError && error.code === "overloaded") throw error;
        log.error("a task trigger could not be fired", { project, trigger: name, error });
      });
    }
  }

  /**
   * Whether a trigger has started a task of this chain. A trigger that follows any workflow could
   * otherwise form a loop with others. A chain that can no longer be read counts as such a chain.
   */
  async #startedBy(name: string, { trigger, depth, parentId }: Task): Promise<boolean> {
    for (let [at, above, left] = [trigger, parentId, depth];; left--) {
      if (at === name) return true;
      if (left === 0) return false;
      const [parent] = above === undefined ? [] : await this.#host.store.findTasks(above);
      if (parent === undefined) return true;
      [at, above] = [parent.trigger, parent.parentId];
    }
  }

  #fire(name: TriggerName, task: Task): Promise<void> {
    const { triggers, resources } = this.#host;
    const parts = ["task", name.project, name.trigger, task.id];
    return byCurrentResources(resources, async (resourceVersion) => {
      const trigger = triggers.find({ ...name, source: "task" });
      if (trigger === undefined) return;
      await fire({
        trigger,
        resourceVersion,
        source: "task",
        once: true,
        id: eventId(task.finishedAt ?? 0, JSON.stringify(parts)),
        payload: toPayload(task),
        ...chainPosition(task),
      }, this.#host);
    });
  }
}

/** Whether a trigger follows whatever task ends. */
const isOfAny = ({ event: { task } }: TriggerSpec) =>
  task?.workflow === undefined && task?.labels === undefined;

/** Position of the next task in a chain of task triggers. */
function chainPosition(task: Task): { parentId: string; depth: number } {
  return { parentId: task.id, depth: task.depth + 1 };
}

/** The same for a stored event; `undefined` if its task no longer exists. */
export async function findChainPosition(
  { task_id: id }: JsonObject,
  store: TaskStore,
): Promise<{ parentId: string; depth: number } | undefined> {
  const [task] = typeof id === "string" ? await store.findTasks(id) : [];
  return task === undefined || task.id !== id ? undefined : chainPosition(task);
}

function toPayload({ id, workflow, state, trigger, reason }: Task): JsonObject {
  return { task_id: id, workflow, state, trigger, reason };
}
