/**
 * The claims that this store has handed out to its worker. What the worker writes of a task is
 * refused unless the task still has the claim under which it got it.
 *
 * @module
 */

import type { Owner } from "../database/connections.ts";

/** A claim of a task. */
export interface TaskClaim {
  readonly id: string;
  /** How often the task has been claimed, with this time. */
  readonly epoch: number;
}

/** By the ids of the tasks. */
export class Claims {
  readonly owner: Owner;
  readonly #epochs = new Map<string, number>();

  constructor(owner: Owner) {
    this.owner = owner;
  }

  /** Notes claims that are committed. */
  add(claims: readonly TaskClaim[]): void {
    for (const { id, epoch } of claims) this.#epochs.set(id, epoch);
  }

  /** The claim of a task; `undefined` where this store never claimed it, or it is over. */
  epochOf(taskId: string): number | undefined {
    return this.#epochs.get(taskId);
  }

  /** The tasks that it knows. */
  taskIds(): readonly string[] {
    return [...this.#epochs.keys()];
  }

  /** Forgets those of `known` that are over: all but `running`. */
  keepOnly(running: ReadonlySet<string>, known: readonly string[]): void {
    for (const id of known) if (!running.has(id)) this.#epochs.delete(id);
  }
}
