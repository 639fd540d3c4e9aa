/**
 * Reports the calls of the store to an observer as deliveries, starts and ends, whatever their source.
 * It decides nothing, and reports a call once its change is on disk.
 *
 * @module
 */

import type { AuditEnd, AuditStart } from "../store/audit_records.ts";
import type { Gap } from "../store/connection_records.ts";
import {
  bestOf,
  type DecidedDelivery,
  type DeliveryFacts,
  type EventOutcome,
} from "../store/delivery_records.ts";
import type { OutboxMessage } from "../store/outbox_records.ts";
import type { Store, StoreMethod } from "../store/store.ts";
import { type AfterCall, afterCalls } from "../store/store_calls.ts";
import type { ClaimedTask, StepRecord, Task } from "../store/task_records.ts";

/** Hears what happens; a method that is absent hears nothing. */
export interface StoreObserver {
  /** A request or another event was stored; `outcome` is the best of its events. */
  delivered?(delivery: DeliveryFacts, outcome: string): void;
  /** A worker has claimed a task, to start it or to continue it. */
  taskStarted?(claimed: ClaimedTask, now: number): void;
  /** A step was stored as ended. */
  stepEnded?(taskId: string, step: StepRecord): void;
  /** A worker no longer runs a task: it has ended as `state`, or was `interrupted`. */
  taskLeft?(taskId: string, state: string): void;
  /** A task has ended; `run` when this daemon ran it, with the time of its end. */
  taskEnded?(state: string, run?: { readonly task: Task; readonly now: number }): void;
  /** A plugin has run. */
  pluginEnded?(start: AuditStart, end: AuditEnd): void;
  /** A plugin was not run. */
  pluginDenied?(start: AuditStart, end: AuditEnd): void;
  /** A message of the outbox was sent or given up. */
  messageEnded?(message: OutboxMessage): void;
  /** A platform could not deliver some events at first. */
  eventsMissed?(gap: Gap): void;
}

interface Observed {
  readonly observer: StoreObserver;
  /** The tasks that this daemon runs, by id. */
  readonly running: Map<string, Task>;
  /** The plugins that run, by the id of their audit row. */
  readonly plugins: Map<string, AuditStart>;
}

const MEANINGS: { readonly [Name in StoreMethod]?: AfterCall<Observed, Name> } = {
  recordDelivery: ({ observer }, outcomes, delivery) => stored(observer, delivery, outcomes),
  recordDeliveries({ observer }, outcomes, { deliveries }) {
    deliveries.forEach((one, index) => stored(observer, one, outcomes[index] ?? []));
  },
  recordHandshake({ observer }, _, delivery) {
    observer.delivered?.(delivery, delivery.outcome);
  },
  recordSourceEvent({ observer }, { status }, { delivery }) {
    observer.delivered?.(delivery, status);
  },
  routeSourceEvent({ observer }, { ended }) {
    if (ended === true) observer.taskEnded?.("failed");
  },
  claimTasks({ observer, running }, { tasks }, _limit, now) {
    for (const claimed of tasks) {
      running.set(claimed.task.id, claimed.task);
      observer.taskStarted?.(claimed, now);
    }
  },
  saveStep: ({ observer }, _, taskId, step) => stepStored(observer, taskId, step),
  finishTask({ observer, running }, isEnd, { taskId, state, now, steps = [] }) {
    for (const step of steps) stepStored(observer, taskId, step);
    const task = running.get(taskId);
    running.delete(taskId);
    observer.taskLeft?.(taskId, state);
    if (isEnd) observer.taskEnded?.(state, task && { task, now });
  },
  requeueTask({ observer, running }, _, taskId, { steps = [] }) {
    for (const step of steps) stepStored(observer, taskId, step);
    running.delete(taskId);
    observer.taskLeft?.(taskId, "interrupted");
  },
  parkTask({ observer, running }, _, taskId, { steps }) {
    for (const step of steps) stepStored(observer, taskId, step);
    running.delete(taskId);
    observer.taskLeft?.(taskId, "waiting");
  },
  cancelTask({ observer }, result) {
    if (result === "cancelled") observer.taskEnded?.("cancelled");
  },
  startAudit: ({ plugins }, _, start) => void plugins.set(start.id, start),
  finishAudit({ observer, plugins }, _, id, end) {
    const start = plugins.get(id);
    plugins.delete(id);
    if (start !== undefined) observer.pluginEnded?.(start, end);
  },
  recordAudit({ observer }, _, rows) {
    for (const { start, end } of rows) {
      if (start.action === "execute") observer.pluginDenied?.(start, end);
    }
  },
  finishMessage({ observer }, message) {
    if (message !== undefined && message.state !== "pending") observer.messageEnded?.(message);
  },
  noteConnection({ observer }, _state, _key, { gap }) {
    if (gap !== undefined) observer.eventsMissed?.(gap);
  },
};

/** Wraps a store so that `observer` hears what its calls meant. */
export function observeStore(store: Store, observer: StoreObserver): Store {
  return afterCalls<Observed>(store, MEANINGS, {
    observer,
    running: new Map(),
    plugins: new Map(),
  });
}

function stored(
  observer: StoreObserver,
  { delivery, events }: DecidedDelivery,
  outcomes: readonly EventOutcome[],
): void {
  observer.delivered?.(delivery, bestOf(outcomes)?.outcome ?? "filtered");
  for (const event of events) {
    // A task without a plan misses something that it needs, and is stored as failed.
    if (event.outcome === "accepted" && event.task.plan === undefined) {
      observer.taskEnded?.("failed");
    }
  }
}

function stepStored(observer: StoreObserver, taskId: string, step: StepRecord): void {
  if (step.finishedAt !== undefined) observer.stepEnded?.(taskId, step);
}
