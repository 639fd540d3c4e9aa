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
  readonly #onLost: (taskIds: readonly string[]) => void;
  #unknown: ReadonlySet<string> = new Set();

  /** `onLost` is called with tasks that another run was found to have claimed. */
  constructor(owner: Owner, onLost: (taskIds: readonly string[]) => void) {
    this.owner = owner;
    this.#onLost = onLost;
  }

  /** Notes claims that are committed. */
  add(claims: readonly TaskClaim[]): void {
    for (const { id, epoch } of claims) this.#epochs.set(id, epoch);
  }

  /** The claim of a task; `undefined` where this store never claimed it, or it is over. */
  epochOf(taskId: string): number | undefined {
    return this.#epochs.get(taskId);
  }

  /** The claims that it knows. */
  list(): readonly TaskClaim[] {
    return Array.from(this.#epochs, ([id, epoch]) => ({ id, epoch }));
  }

  /** Says that this task was found to be another run's; its claim stays, so as to be refused. */
  lose(taskId: string): void {
    this.#onLost([taskId]);
  }

  /**
   * Which of these claims were stored and never handed out, because the answer of the database did
   * not arrive: this store knew nothing of them the last time it was asked, either. One that is
   * being handed out it knows by then.
   */
  findUnheard(running: readonly TaskClaim[]): readonly string[] {
    const unknown = running.filter(({ id, epoch }) => this.#epochs.get(id) !== epoch)
      .map(({ id }) => id);
    const unheard = unknown.filter((id) => this.#unknown.has(id));
    this.#unknown = new Set(unknown);
    return unheard;
  }

  /** Forgets a claim that is over, unless the task has been claimed anew. */
  forget({ id, epoch }: TaskClaim): void {
    if (this.#epochs.get(id) === epoch) this.#epochs.delete(id);
  }
}
