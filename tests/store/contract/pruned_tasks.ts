/**
 * Tasks that end and are removed, for several files of cases.
 *
 * @module
 */

import type { Store } from "../../../src/store/store.ts";
import type { NewTask } from "../../../src/store/task_records.ts";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { numberOf } from "./each_store.ts";

/** Options of `pruneTasks` with which nothing goes. */
export const FOREVER = { before: 0, keep: 1_000_000, limit: 1000 };

/** Stores task `n` and ends it at `at`. */
export async function ended(
  store: Store,
  n: number,
  given: {
    at?: number;
    project?: string;
    trigger?: string;
    receivedAt?: number;
    task?: Partial<NewTask>;
  } = {},
) {
  await accept(store, n, given);
  await store.claimTasks(999, 1);
  const taskId = taskIdOf(n);
  await store.finishTask({ taskId, state: "succeeded", reason: "", now: given.at ?? 100 + n });
}

/** Prunes tasks; gives the numbers of those that went. */
export async function prune(store: Store, options: Partial<typeof FOREVER>): Promise<number[]> {
  return (await store.pruneTasks({ ...FOREVER, ...options })).map(({ id }) => numberOf(id));
}
