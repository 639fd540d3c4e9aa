/**
 * Stores how a run of a task ended: that the task has ended, waits, or goes back to the queue.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import type { ClaimedTask, Task, TaskNames } from "../../store/task_records.ts";
import type { TaskQueue } from "../../store/task_store.ts";
import type { TurnStore } from "../../store/turn_store.ts";
import { mayHaveChildren, mayHaveTurns, mayHaveWaits } from "../plan.ts";
import { announceEnd } from "./announce_end.ts";
import { cancelChildren, type ChildrenHost } from "./children.ts";
import type { RunHost, TaskResult } from "./task_context.ts";
import type { TaskWrites } from "./task_writes.ts";

/** How a run ended, and how long it took; absent where that is counted already. */
export interface TimedResult extends TaskResult {
  /** Milliseconds. */
  readonly activeMs?: number;
}

/** The parts of a worker that store how a run ended. */
interface Host extends Pick<RunHost, "clock" | "log" | "events"> {
  readonly store:
    & Pick<TaskQueue, "finishTask" | "requeueTask">
    & Pick<TurnStore, "endTurn" | "parkTask">
    & ChildrenHost["store"];
  readonly isFollowed: (task: TaskNames) => boolean;
}

/** Whether the end of a task has to be kept: triggers follow it, or a step of another task waits for it. */
export function isAwaited(task: Task, { isFollowed }: Pick<Host, "isFollowed">): boolean {
  return task.rootId !== "" || isFollowed(task);
}

/** Ends a task, parks one that waits, or puts one back that was interrupted. */
export async function storeResult(
  { task, plan }: ClaimedTask,
  { activeMs = 0, ...result }: TimedResult,
  host: Host,
  writes: TaskWrites,
): Promise<void> {
  const { state, reason, steps = [], parked, hasOwnFiles, isEnding } = result;
  const { store, clock } = host;
  const untilStored = <T>(write: () => Promise<T>) => writes.untilStored(task.id, write);
  const now = clock.now();
  if (state === "interrupted") {
    return await untilStored(() => store.requeueTask(task.id, { now, steps, activeMs }));
  }
  if (state === "waiting") {
    return await untilStored(() =>
      store.parkTask(task.id, {
        ...parked,
        steps,
        activeMs,
        ...defined({ hasOwnFiles, isEnding }),
        now,
      })
    );
  }
  // such as those of steps that were cancelled while they waited, or that a crash cut off
  if (mayHaveChildren(plan)) await untilStored(() => cancelChildren({ claimed: { task }, host }));
  if (mayHaveTurns(plan)) await untilStored(() => store.endTurn(task.id, now));
  const [followed, hasWaits] = [isAwaited(task, host), mayHaveWaits(plan)];
  const end = { state, reason, now, followed, mayHaveWaits: hasWaits };
  await untilStored(() => store.finishTask({ ...end, taskId: task.id, steps }));
  announceEnd({ ...task, state, reason, finishedAt: now }, host);
}
