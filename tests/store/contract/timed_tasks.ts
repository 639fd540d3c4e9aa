/**
 * Tasks that wait for a time, for several files of cases.
 *
 * @module
 */

import type { Store } from "../../../src/store/store.ts";
import type { NewTask } from "../../../src/store/task_records.ts";
import { accept, type Accepted } from "../../helpers/store_records.ts";
import { numberOf } from "./each_store.ts";

/** When most cases take place. */
export const T0 = Date.parse("2026-01-02T03:04:05.000Z");
/** A second. */
export const SEC = 1000;
/** An hour. */
export const HOUR = 3_600_000;

/** Claims all that is due; gives the numbers of the tasks, and when the next one is due. */
export async function claimAt(store: Store, now: number, limit = 999) {
  const { tasks, nextAt } = await store.claimTasks(limit, now);
  return { tasks: tasks.map(({ task }) => numberOf(task.id)), nextAt };
}

/** Stores delivery `n` of a trigger that debounces. */
export function debounced(
  store: Store,
  n: number,
  at: number,
  { secs = 10, key = "", ...task }: { secs?: number; key?: string } & Partial<NewTask> = {},
) {
  const given: Accepted = {
    receivedAt: at,
    task: { debounce: { key, forMs: secs * SEC }, ...task },
  };
  return accept(store, n, given);
}

/** A task whose trigger allows so many starts a minute. */
export const limited = (perMinute: number, reject = false): { task: Partial<NewTask> } => ({
  task: { rateLimit: { perMinute, reject } },
});
