/**
 * Tasks that share, for several files of cases.
 *
 * @module
 */

import type { Store } from "../../../src/store/store.ts";
import type { NewTask, Task, TaskConcurrency } from "../../../src/store/task_records.ts";
import { taskIdOf } from "../../helpers/store_records.ts";
import { numberOf } from "./each_store.ts";

/** A task of a group with this policy. */
export const grouped = (
  policy: TaskConcurrency["policy"],
  { max = 1, key = "" }: { max?: number; key?: string } = {},
): { task: Partial<NewTask> } => ({ task: { concurrency: { policy, key, max } } });

/** Claims all that may run now; gives the numbers of the tasks. */
export async function claim(store: Store, limit = 999): Promise<number[]> {
  const { tasks } = await store.claimTasks(limit, 1);
  return tasks.map(({ task }) => numberOf(task.id));
}

/** Ends a running task. */
export const finish = (store: Store, n: number) =>
  store.finishTask({ taskId: taskIdOf(n), state: "succeeded", reason: "", now: 9 });

/** Numbers of the tasks in a state, the oldest first. */
export async function inState(store: Store, state: Task["state"]): Promise<number[]> {
  return (await store.listTasks({ state, limit: 9999 })).map(({ id }) => numberOf(id)).toReversed();
}
