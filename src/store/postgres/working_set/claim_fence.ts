/**
 * Refuses writes of a worker to a task that another worker has taken over: the claim in the row has
 * to be the claim under which this store handed the task out.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import type { Owner } from "../database/connections.ts";
import type { WorkingTasks } from "./working_tasks.ts";

/** The claims that this store has handed out. */
export interface HandedOut {
  readonly owner: Owner;
  /**
   * Number of claims of the task up to that of this store; `undefined` where it never claimed it.
   */
  epochOf(taskId: string): number | undefined;
  /** Reports that the task of a claim belongs to another run now. */
  lose(claim: LostClaim): void;
}

/** A claim of a task that another run has; without an epoch where this store never claimed it. */
export interface LostClaim {
  readonly id: string;
  readonly epoch: number | undefined;
}

/** Decides which tasks of a batch this store may write. */
export class ClaimFence {
  readonly #tasks: Pick<WorkingTasks, "findClaim">;
  readonly #handedOut: HandedOut;

  constructor(tasks: Pick<WorkingTasks, "findClaim">, handedOut: HandedOut) {
    this.#tasks = tasks;
    this.#handedOut = handedOut;
  }

  /**
   * Whether this store may write the results of its worker. A task that this store never handed out
   * may be written unless another run has it at the moment.
   */
  allows(taskId: string): boolean {
    const claim = this.#tasks.findClaim(taskId);
    if (claim === "none") return true;
    const { owner } = this.#handedOut;
    const epoch = this.#handedOut.epochOf(taskId);
    if (epoch === undefined && claim.state !== "running") return true;
    const isOurs = claim.node === owner.node && claim.run === owner.run &&
      (epoch === undefined || epoch === claim.epoch);
    if (!isOurs) this.#handedOut.lose({ id: taskId, epoch });
    return isOurs;
  }

  /** @throws {AppError} `conflict` when it may not. */
  check(taskId: string): void {
    if (this.allows(taskId)) return;
    throw new AppError("conflict", `Task ${taskId} is run by another node now`);
  }
}
