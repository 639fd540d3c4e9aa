/**
 * Runs a batch: the calls that came while the batch before was under way, in one transaction of two
 * round trips to the server.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { Batch } from "../maintenance.ts";
import type { StoreArgs, StoreResult } from "../store_calls.ts";
import { BATCHED, type Batched, type BatchRows } from "./batched.ts";
import type { Connections, Session } from "./database/connections.ts";
import { byHalves, type CallResult, isAway } from "./batcher.ts";
import { MOST_LOADS } from "./working_set/change_tasks.ts";
import { ClaimFence, type HandedOut } from "./working_set/claim_fence.ts";
import { loadFacts } from "./working_set/facts.ts";
import { BatchRequest, MissingFact } from "./working_set/batch_request.ts";
import { WorkingSet } from "./working_set/working_set.ts";

/** A call of a method that shares transactions. */
export interface BatchedCall<Name extends Batched = Batched> {
  readonly method: Name;
  readonly args: StoreArgs<Name>;
}

function addRequest<Name extends Batched>(
  request: BatchRequest,
  { method, args }: BatchedCall<Name>,
): void {
  BATCHED[method].asksFor(request, ...args);
}

function runCall<Name extends Batched>(
  rows: BatchRows,
  { method, args }: BatchedCall<Name>,
): StoreResult<Name> {
  return BATCHED[method].run(rows, ...args);
}

/** The connections and claims of a store, and the function that is called after each batch. */
export interface BatchHost {
  readonly connections: Connections;
  readonly handedOut: HandedOut;
  readonly clock: Clock;
  /** Called with the result of each batch. */
  readonly onBatch?: (batch: Batch) => void;
}

/**
 * Runs batches. If each question of a rule were a statement, it would be a round trip, with locks
 * held meanwhile. So a batch goes like this:
 *
 * 1. Each call names the facts that the rules may ask for (`batched.ts`): keys of events, tasks,
 *    groups, workspaces, rates. A `BatchRequest` collects them.
 * 2. First round trip: `BEGIN`, and the function `facts` of the database, which takes the lock of
 *    every named fact, in one order, and then reads it. Nothing that was read can change until the
 *    commit.
 * 3. A `WorkingSet` holds the facts in memory, and is the rows on which `store/transactions/` works.
 *    The calls run over it one after the other, and each sees what those before it have changed. They
 *    await nothing. With SQLite the same transactions run over statements (`SqliteDeliveryRows`).
 * 4. Where a call asks for a fact that was not named, the working set throws `MissingFact`. The
 *    transaction is undone, which gives back all locks, the fact is added to the request, and the
 *    batch begins again at step 2. Nothing was written so far.
 * 5. Second round trip: the function `write` stores what `Changes` has collected, and `COMMIT` follows
 *    without waiting for its answer.
 * 6. Each call gets its own result once the commit is on disk. A call that is refused before it has
 *    changed anything is refused alone. Any other error undoes the batch, and each half of it runs by
 *    itself (`byHalves`), until the call that fails is alone.
 *
 * Figures and reasons are in `docs/decisions/0015-working-set.md`.
 */
export class BatchRunner {
  readonly #host: BatchHost;
  /** Number of transactions that have changed something. */
  #written = 0;

  constructor(host: BatchHost) {
    this.#host = host;
  }

  /** Runs a batch; returns the results of its calls in the same order. Never rejects. */
  async run(calls: readonly BatchedCall[]): Promise<readonly CallResult[]> {
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
   * Two batches never deadlock, because each takes all its locks in one order. So a missing fact
   * gives back every lock before the batch begins again.
   */
  async #runTogether(calls: readonly BatchedCall[]): Promise<readonly CallResult[]> {
    const request = new BatchRequest();
    for (const call of calls) addRequest(request, call);
    for (let loads = 1;; loads++) {
      try {
        const { settled, wrote } = await this.#host.connections.transaction((db) =>
          this.#runOnce(db, calls, request)
        );
        if (wrote) this.#written += 1;
        return settled;
      } catch (error) {
        if (!(error instanceof MissingFact) || loads === MOST_LOADS) throw error;
        error.addTo(request);
      }
    }
  }

  async #runOnce(
    db: Session,
    calls: readonly BatchedCall[],
    request: BatchRequest,
  ): Promise<{ readonly settled: readonly CallResult[]; readonly wrote: boolean }> {
    const set = new WorkingSet(request, await loadFacts(db, request));
    const rows = { set, fence: new ClaimFence(set, this.#host.handedOut) };
    const settled = calls.map((call) => attempt(call, rows));
    set.writeLast(db);
    return { settled, wrote: set.changes.count > 0 };
  }
}

/** A refusal before anything was changed leaves the batch intact; any other error undoes it. */
function attempt(call: BatchedCall, rows: BatchRows): CallResult {
  const { changes } = rows.set;
  const before = changes.count;
  try {
    return { value: runCall(rows, call) };
  } catch (error) {
    if (!(error instanceof AppError) || changes.count !== before) throw error;
    return { error };
  }
}
