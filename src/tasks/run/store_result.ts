/**
 * Stores how a run of a task ended: that the task has ended, waits, or goes back to the queue.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import type { ClaimedTask, Task, TaskNames } from "../../store/task_records.ts";
import type { TaskQueue } from "../../store/task_store.ts";
import type { TurnStore } from "../../store/turn_store.ts";
import { mayHaveTurns, mayHaveWaits } from "../plan.ts";
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
    & Pick<TurnStore, "endTurn" | "parkTask">;
  readonly isFollowed: (task: TaskNames) => boolean;
}

/** Ends a task, parks one that waits, or puts one back that was interrupted. */
export async function storeResult(
  { task, plan }: ClaimedTask,
  { activeMs = 0, ...result }: TimedResult,
  host: Host,
  writes: TaskWrites,
): Promise<void> {
  const { state, reason, steps = [], parked, hasOwnFiles, isEnding } = result;
  const { store, clock, isFollowed } = host;
  const untilStored = <T>(write: () => Promise<T>) => writes.untilStored(task.id, write);
  if (state === "interrupted") {
    return await untilStored(() => store.requeueTask(task.id, steps, activeMs));
  }
  const now = clock.now();
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
  if (mayHaveTurns(plan)) await untilStored(() => store.endTurn(task.id));
  const [followed, hasWaits] = [isFollowed(task), mayHaveWaits(plan)];
  const end = { state, reason, now, followed, mayHaveWaits: hasWaits };
  await untilStored(() => store.finishTask({ ...end, taskId: task.id, steps }));
  announceEnd({ ...task, state, reason, finishedAt: now }, host);
}

/** Tells the log and the other parts of the daemon that a task has ended. */
export function announceEnd(task: Task, { log, events }: Pick<Host, "log" | "events">): void {
  const { id, state, reason } = task;
  log.info("task ended", { task: id, state, ...defined({ reason: reason || undefined }) });
  events.publish("taskEnded", { task });
}
