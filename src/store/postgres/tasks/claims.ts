/**
 * The claims that this store has handed out to its worker. What the worker writes of a task is
 * refused unless the task still has the claim under which it got it.
 *
 * @module
 */

import type { Owner } from "../database/connections.ts";
import type { LostClaim } from "../working_set/claim_fence.ts";

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
  /** Claims of which nobody ran the task when it was last asked. */
  #idle: ReadonlyMap<string, number> = new Map();
  /** Claims that were given back before they were handed out. */
  readonly #givenBack = new Map<string, number>();

  /** `onLost` is called with tasks that another run was found to have claimed. */
  constructor(owner: Owner, onLost: (taskIds: readonly string[]) => void) {
    this.owner = owner;
    this.#onLost = onLost;
  }

  /**
   * Notes claims that are committed, and gives those that are still to be had: the answer of the
   * database may have taken so long that some were given back. To be called last before they are
   * handed out, and by one who claims after the other.
   */
  add<Claim extends TaskClaim>(claims: readonly Claim[]): readonly Claim[] {
    const kept = claims.filter(({ id, epoch }) => this.#givenBack.get(id) !== epoch);
    for (const { id, epoch } of kept) this.#epochs.set(id, epoch);
    this.#givenBack.clear(); // what was claimed before this will not be answered any more
    return kept;
  }

  /** The claim of a task; `undefined` where this store never claimed it, or it is over. */
  epochOf(taskId: string): number | undefined {
    return this.#epochs.get(taskId);
  }

  /** The claims that it knows. */
  list(): readonly TaskClaim[] {
    return Array.from(this.#epochs, ([id, epoch]) => ({ id, epoch }));
  }

  /**
   * Says that a task was found to be another run's, unless it has been claimed anew since; its claim
   * stays, so as to be refused.
   */
  lose({ id, epoch }: LostClaim): void {
    if (this.#epochs.get(id) === epoch) this.#onLost([id]);
  }

  /**
   * Which of these claims are to be given back, because nobody runs their tasks: those whose answer
   * was lost on its way, and whatever else fell out of every hand. Nobody ran them the last time it
   * was asked, either: one that is being handed out is in somebody's hand by then.
   */
  findIdle(
    running: readonly TaskClaim[],
    inHand: ReadonlySet<string> | undefined,
  ): readonly TaskClaim[] {
    if (inHand === undefined) return [];
    const idle = running.filter(({ id }) => !inHand.has(id));
    const left = idle.filter(({ id, epoch }) => this.#idle.get(id) === epoch);
    this.#idle = new Map(idle.map(({ id, epoch }) => [id, epoch]));
    for (const { id, epoch } of left) this.#givenBack.set(id, epoch);
    return left;
  }

  /** Forgets a claim that is over, unless the task has been claimed anew. */
  forget({ id, epoch }: TaskClaim): void {
    if (this.#epochs.get(id) === epoch) this.#epochs.delete(id);
  }
}
