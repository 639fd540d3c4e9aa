/**
 * A transaction of `store/transactions/` inside of one that is open: its facts are loaded, it
 * decides, and what it changed is written.
 *
 * @module
 */

import type { Session } from "../database/connections.ts";
import { loadFacts } from "./facts.ts";
import { Missing, Wanted } from "./wanted.ts";
import { WorkingSet } from "./working_set.ts";

/** How often more is loaded for one piece of work. */
export const MOST_LOADS = 50;

/**
 * Runs `work` over what it wants, and anew with more where that was not enough; it has to do nothing
 * but change the set.
 */
export async function changeTasks<T>(
  db: Session,
  want: (wanted: Wanted) => void,
  work: (set: WorkingSet) => T,
): Promise<T> {
  const wanted = new Wanted();
  want(wanted);
  for (let loads = 1;; loads++) {
    const set = new WorkingSet(wanted, await loadFacts(db, wanted));
    try {
      const result = work(set);
      await set.write(db);
      return result;
    } catch (error) {
      if (!(error instanceof Missing) || loads === MOST_LOADS) throw error;
      error.addTo(wanted);
    }
  }
}
