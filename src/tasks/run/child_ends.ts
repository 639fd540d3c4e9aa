/**
 * Tells the steps that wait for child tasks how these have ended, after the next of their items have got
 * their tasks. The end of a child is told when it is handled (`intake/task.ts`); what a crash or another
 * daemon has lost is looked for once a minute.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import { MAX_ITEMS } from "../../resources/child_workflow.ts";
import { SerialRunner } from "../../base/serial_runner.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { NextChildren } from "../../store/child_records.ts";
import type { ChildStore } from "../../store/child_store.ts";
import type { TaskStore } from "../../store/task_store.ts";
import { childrenOf } from "../child_plan.ts";
import type { Plan } from "../plan.ts";

/** The clock, the log, the children, and what they run. */
interface ChildEndsHost extends Core {
  readonly store:
    & Pick<ChildStore, "endChild" | "listLostChildren" | "findNextChildren" | "startChildren">
    & Pick<TaskStore, "findTasks" | "findPlan">;
  readonly catalog: Catalog;
}

/** How often lost ends are looked for. */
const LOOK_EVERY_MS = 60_000;
/** Ends that are told in one go. */
const BATCH_SIZE = 100;

/** Tells the ends of children until disposed. */
export class ChildEnds implements AsyncDisposable {
  readonly #host: ChildEndsHost;
  readonly #runner: SerialRunner;
  readonly #timer: Disposable;

  /** Looks at once for what the previous run of the daemon has not told. */
  constructor(host: ChildEndsHost) {
    this.#host = host;
    const { clock, log } = host;
    this.#runner = new SerialRunner({
      run: () => this.#tellLost(),
      onError: (error) =>
        log.warn("the ends of child tasks cannot be told, trying again in a second", { error }),
      clock,
    });
    this.#timer = clock.every(LOOK_EVERY_MS, () => this.#runner.kick());
    this.#runner.kick();
  }

  /**
   * Tells the step that waits for this task that it has ended. The next items come first: a crash in
   * between leaves the end untold, so both are done again.
   */
  async over(taskId: string): Promise<void> {
    const { store, clock } = this.#host;
    // others that end at the same time may take some of the room, or leave some more
    for (let left = MAX_ITEMS; left > 0; left--) {
      const next = await store.findNextChildren(taskId);
      if (next === undefined || !await this.#start(next)) break;
    }
    await store.endChild(taskId, clock.now());
  }

  /** Whether the next children of a step could be asked for. */
  async #start({ next, project, ...place }: NextChildren): Promise<boolean> {
    const { store, catalog, clock } = this.#host;
    const [task] = await store.findTasks(place.taskId);
    const json = await store.findPlan(place.taskId);
    if (task === undefined || json === undefined) return false;
    const plan = JSON.parse(json) as Plan;
    const step = plan.steps[place.position];
    if (step?.workflow === undefined) return false;
    const { workflow } = step;
    const now = clock.now();
    const starting = { ...place, task, plan, step: { ...step, workflow } };
    await store.startChildren({
      ...childrenOf(starting, next, { catalog, now }),
      wait: { ...place, project, parts: [], now },
      isFollowUp: true,
    });
    return true;
  }

  /** Waits for the ends that are being told. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    await this.#runner[Symbol.asyncDispose]();
  }

  async #tellLost(): Promise<undefined> {
    const lost = await this.#host.store.listLostChildren(BATCH_SIZE);
    for (const id of lost) await this.over(id);
    if (lost.length === BATCH_SIZE) this.#runner.kick();
  }
}
