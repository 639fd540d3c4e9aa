/**
 * The writes of a worker about its tasks, from the moment a run is over until the store has them.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import { AppError } from "../../base/errors.ts";
import { retryUntilStored } from "../../base/retry_while_overloaded.ts";

/** Why a worker gives up a task that another daemon has claimed. */
export const LOST = "another node runs it now";

/** The writes that are under way. */
export class TaskWrites {
  readonly #core: Core;
  readonly #stop: AbortSignal;
  /** The id of the task of each. */
  readonly #taskIds = new Map<Promise<void>, string>();

  /** Failed writes are repeated until `stop` aborts. */
  constructor(core: Core, stop: AbortSignal) {
    this.#core = core;
    this.#stop = stop;
  }

  /** Notes a write until it is over; logs its failure. */
  add(taskId: string, write: Promise<void>): void {
    const { log } = this.#core;
    const over = write
      .catch((error) => {
        if (isRefused(error)) log.info("task given up", { task: taskId, why: LOST });
        else log.error("the result of a task could not be stored", { task: taskId, error });
      })
      .finally(() => this.#taskIds.delete(over));
    this.#taskIds.set(over, taskId);
  }

  /** Repeats `write` until the store takes it: its values are stored nowhere else. */
  untilStored<T>(taskId: string, write: () => Promise<T>): Promise<T> {
    const { clock, log } = this.#core;
    return retryUntilStored(write, {
      clock,
      signal: this.#stop,
      onFault: (error) =>
        log.error("the result of a task cannot be stored yet, trying again", {
          task: taskId,
          error,
        }),
    });
  }

  /** Ids of the tasks with a write. */
  taskIds(): Iterable<string> {
    return this.#taskIds.values();
  }

  /** The writes about one task. */
  of(taskId: string): readonly Promise<void>[] {
    return [...this.#taskIds].filter(([, id]) => id === taskId).map(([write]) => write);
  }

  /** Resolves when all writes that are under way now are over. */
  async over(): Promise<void> {
    await Promise.all(this.#taskIds.keys());
  }
}

/** Whether the store refused a write, because this daemon does not have the task any more. */
const isRefused = (error: unknown) => error instanceof AppError && error.code === "conflict";
