/**
 * Counts what the store's calls meant. This is the only place where deliveries, tasks, steps, plugins
 * and messages are counted.
 *
 * @module
 */

import type { WallClock } from "../base/clock.ts";
import type { Metrics } from "./metrics.ts";
import type { Minutes } from "./minutes.ts";
import type { Rates } from "./rates.ts";
import type { StoreObserver } from "./store_observer.ts";

/** The three destinations of the counts. */
export interface Counts {
  /** Read by Prometheus. */
  readonly metrics: Metrics;
  /** Read by `svc status`. */
  readonly rates: Rates;
  /** Read by `svc stats`. */
  readonly minutes: Minutes;
}

/** The observer that counts; `clock` says how long a request took until it was stored. */
export function counting({ metrics, rates, minutes }: Counts, clock: WallClock): StoreObserver {
  return {
    delivered(delivery, outcome) {
      metrics.delivery(delivery.project, delivery.trigger, outcome);
      rates.add("deliveries", outcome);
      const isAnswered = delivery.via !== "internal";
      const tookMs = isAnswered ? clock.now() - delivery.receivedAt : undefined;
      minutes.delivery(delivery, outcome, tookMs);
    },
    taskStarted({ task }, now) {
      if (task.restarts > 0) return;
      metrics.taskStart((now - task.createdAt) / 1000);
      minutes.taskStart(task, now - task.createdAt);
    },
    stepEnded: (_taskId, { state }) => metrics.stepEnd(state),
    taskEnded(state, run) {
      rates.add("tasks", state);
      minutes.taskEnd(state);
      if (run === undefined) return;
      const { task, now } = run;
      metrics.taskEnd(task, state, (now - (task.startedAt ?? now)) / 1000);
    },
    pluginEnded({ pluginType }, { result, durationMs }) {
      metrics.pluginEnd(pluginType, result, durationMs && durationMs / 1000);
    },
    pluginDenied: ({ pluginType }, { result }) => metrics.pluginEnd(pluginType, result, undefined),
    messageEnded: ({ kind, state }) => metrics.messageEnd(kind, state),
    eventsMissed({ repaired, lost }) {
      metrics.gap("repaired", repaired);
      metrics.gap("lost", lost);
    },
  };
}
