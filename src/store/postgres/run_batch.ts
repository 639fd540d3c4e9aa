/**
 * Runs a batch of calls in one transaction of two round trips: their facts are loaded and locked, the
 * calls decide one after the other, and what they change is written together.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { Batch } from "../maintenance.ts";
import type { StoreArgs, StoreResult } from "../store_calls.ts";
import { BATCHED, type Batched, type BatchRows } from "./batched.ts";
import type { Connections, Session } from "./database/connections.ts";
import { byHalves, isAway, type Settled } from "./lane.ts";
import { MOST_LOADS } from "./working_set/change_tasks.ts";
import { ClaimFence, type HandedOut } from "./working_set/claim_fence.ts";
import { loadFacts } from "./working_set/facts.ts";
import { Missing, Wanted } from "./working_set/wanted.ts";
import { WorkingSet } from "./working_set/working_set.ts";

/** A call of a method that shares transactions. */
export interface BatchedCall<Name extends Batched = Batched> {
  readonly method: Name;
  readonly args: StoreArgs<Name>;
}

function addWants<Name extends Batched>(wanted: Wanted, { method, args }: BatchedCall<Name>): void {
  BATCHED[method].wants(wanted, ...args);
}

function runCall<Name extends Batched>(
  rows: BatchRows,
  { method, args }: BatchedCall<Name>,
): StoreResult<Name> {
  return BATCHED[method].run(rows, ...args);
}

/** What batches run over, and who hears of them. */
export interface BatchHost {
  readonly connections: Connections;
  readonly handedOut: HandedOut;
  readonly clock: Clock;
  /** Called with the result of each batch. */
  readonly onBatch?: (batch: Batch) => void;
}

/** Runs batches. */
export class BatchRunner {
  readonly #host: BatchHost;
  /** Number of transactions that have changed something. */
  #written = 0;

  constructor(host: BatchHost) {
    this.#host = host;
  }

  /** What came of each call; one that fails when others have changed something undoes all of them. */
  async run(calls: readonly BatchedCall[]): Promise<readonly Settled[]> {
    const { clock, onBatch = () => {} } = this.#host;
    const [start, before] = [clock.monotonicMs(), this.#written];
    const settled = await this.#runHalves(calls);
    const refused = settled.flatMap((one) =>
      "error" in one && isAway(one.error) ? [one.error] : []
    );
    onBatch({
      calls: calls.length,
      wrote: this.#written !== before,
      tookMs: clock.monotonicMs() - start,
      ...(refused[0] === undefined ? {} : { refused: refused[0].message }),
    });
    return settled;
  }

  readonly #runHalves = byHalves((calls: readonly BatchedCall[]) => this.#runTogether(calls));

  /**
   * Locks are taken in one order, so that two batches never wait for each other: where one was
   * missing, all are given back first.
   */
  async #runTogether(calls: readonly BatchedCall[]): Promise<readonly Settled[]> {
    const wanted = new Wanted();
    for (const call of calls) addWants(wanted, call);
    for (let loads = 1;; loads++) {
      try {
        const { settled, wrote } = await this.#host.connections.transaction((db) =>
          this.#runOnce(db, calls, wanted)
        );
        if (wrote) this.#written += 1;
        return settled;
      } catch (error) {
        if (!(error instanceof Missing) || loads === MOST_LOADS) throw error;
        error.addTo(wanted);
      }
    }
  }

  async #runOnce(
    db: Session,
    calls: readonly BatchedCall[],
    wanted: Wanted,
  ): Promise<{ readonly settled: readonly Settled[]; readonly wrote: boolean }> {
    const set = new WorkingSet(wanted, await loadFacts(db, wanted));
    const rows = { set, fence: new ClaimFence(set, this.#host.handedOut) };
    const settled = calls.map((call) => attempt(call, rows));
    set.writeLast(db);
    return { settled, wrote: set.changes.count > 0 };
  }
}

/** A refusal before anything was changed leaves the batch intact; any other error undoes it. */
function attempt(call: BatchedCall, rows: BatchRows): Settled {
  const { changes } = rows.set;
  const before = changes.count;
  try {
    return { value: runCall(rows, call) };
  } catch (error) {
    if (!(error instanceof AppError) || changes.count !== before) throw error;
    return { error };
  }
}
