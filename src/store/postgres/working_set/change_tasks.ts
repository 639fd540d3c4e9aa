/**
 * Runs a transaction of `store/transactions/` as a part of the one that is open: its facts are loaded,
 * it decides, and what it has changed is written, as in `run_batch.ts`.
 *
 * @module
 */

import type { Session } from "../database/connections.ts";
import { loadFacts } from "./facts.ts";
import { BatchRequest, MissingFact } from "./batch_request.ts";
import { WorkingSet } from "./working_set.ts";

/**
 * How often the facts of one piece of work are loaded before it fails. One load is the rule, and three
 * were the most in random histories of 3,000 batches. A miss names one fact, and a queue is loaded
 * nine times as deep after each, so 50 loads are enough for any queue of 100,000 tasks (seven loads)
 * in each of several limits. The number stops a fault that would ask for ever.
 */
export const MOST_LOADS = 50;

/**
 * Runs `work` over the facts that it asks for, and again with more where one was missing. So `work`
 * may change nothing but the set. The locks that it has are kept meanwhile: two such transactions can
 * meet in a deadlock, which `Connections.transaction` repeats.
 */
export async function changeTasks<T>(
  db: Session,
  ask: (request: BatchRequest) => void,
  work: (set: WorkingSet) => T,
): Promise<T> {
  const request = new BatchRequest();
  ask(request);
  for (let loads = 1;; loads++) {
    const set = new WorkingSet(request, await loadFacts(db, request));
    try {
      const result = work(set);
      await set.write(db);
      return result;
    } catch (error) {
      if (!(error instanceof MissingFact) || loads === MOST_LOADS) throw error;
      error.addTo(request);
    }
  }
}
