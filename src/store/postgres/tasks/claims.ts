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
  /** Number of claims of the task up to this one. */
  readonly epoch: number;
}

/** The claims of this run, by the ids of their tasks. */
export class Claims {
  readonly owner: Owner;
  readonly #epochs = new Map<string, number>();
  readonly #onLost: (taskIds: readonly string[]) => void;
  /** Claims whose task no worker had in hand when `findIdle` was called last. */
  #idle: ReadonlyMap<string, number> = new Map();
  /** Claims that were given back before they were handed out. */
  readonly #givenBack = new Map<string, number>();

  /** `onLost` is called with tasks that another run was found to have claimed. */
  constructor(owner: Owner, onLost: (taskIds: readonly string[]) => void) {
    this.owner = owner;
    this.#onLost = onLost;
  }

  /**
   * Notes claims that are committed, and returns those that were not given back meanwhile: the
   * answer of the database may have taken long. To be called right before they are handed out, and
   * by one call that claims after the other.
   */
  add<Claim extends TaskClaim>(claims: readonly Claim[]): readonly Claim[] {
    const kept = claims.filter(({ id, epoch }) => this.#givenBack.get(id) !== epoch);
    for (const { id, epoch } of kept) this.#epochs.set(id, epoch);
    this.#givenBack.clear(); // no answer to an earlier claim comes any more
    return kept;
  }

  /** The claim of a task; `undefined` where this store never claimed it, or it is over. */
  epochOf(taskId: string): number | undefined {
    return this.#epochs.get(taskId);
  }

  /** All claims of this run. */
  list(): readonly TaskClaim[] {
    return Array.from(this.#epochs, ([id, epoch]) => ({ id, epoch }));
  }

  /**
   * Reports a task that another run has, unless this run has claimed it again since. Its claim
   * stays, so that what its worker writes is refused.
   */
  lose({ id, epoch }: LostClaim): void {
    if (this.#epochs.get(id) === epoch) this.#onLost([id]);
  }

  /**
   * The claims that are to be given back because no worker runs their tasks, such as those whose
   * answer was lost on its way. No worker had them in hand at the call before this one either: a
   * claim that was on its way to a worker then has arrived by now.
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
