/**
 * A store that counts deliveries, tasks, steps and plugins as they are stored, whatever their
 * source. This is the one place where they are counted; it decides nothing.
 *
 * @module
 */

import type { WallClock } from "../base/clock.ts";
import { bestOf, type EventOutcome, type NewDelivery } from "../store/delivery_records.ts";
import type { Store } from "../store/store.ts";
import type { ClaimedTask, StepRecord } from "../store/task_records.ts";
import type { Metrics } from "./metrics.ts";
import type { Minutes } from "./minutes.ts";
import type { Rates } from "./rates.ts";

/** Where the counts go. */
export interface Counting {
  /** For Prometheus. */
  readonly metrics: Metrics;
  /** For `svc status`. */
  readonly rates: Rates;
  /** For `svc stats`. */
  readonly minutes: Minutes;
  /** Says how long a request took until it was stored. */
  readonly clock: WallClock;
}

/** Wraps a store so that its calls are counted. */
export function withMetrics(store: Store, { metrics, rates, minutes, clock }: Counting): Store {
  const running = new Map<string, ClaimedTask["task"]>();
  const plugins = new Map<string, string>();
  const delivered = (delivery: NewDelivery["delivery"], outcome: string) => {
    metrics.delivery(delivery.project, delivery.trigger, outcome);
    rates.add("deliveries", outcome);
    const isAnswered = delivery.via !== "internal";
    minutes.delivery(delivery, outcome, isAnswered ? clock.now() - delivery.receivedAt : undefined);
  };
  const ended = (state: string) => {
    rates.add("tasks", state);
    minutes.taskEnd(state);
  };
  const stored = (
    { delivery, events }: Pick<NewDelivery, "delivery" | "events">,
    outcomes: readonly EventOutcome[],
  ) => {
    delivered(delivery, bestOf(outcomes)?.outcome ?? "filtered");
    for (const event of events) {
      if (event.outcome === "accepted" && event.task.plan === undefined) {
        ended("failed");
      }
    }
  };
  const stepStored = (step: StepRecord) => {
    if (step.finishedAt !== undefined) metrics.stepEnd(step.state);
  };

  const own = {
    async recordDelivery(given) {
      const outcomes = await store.recordDelivery(given);
      stored(given, outcomes);
      return outcomes;
    },
    async recordDeliveries(given) {
      const outcomes = await store.recordDeliveries(given);
      given.deliveries.forEach((one, index) => stored(one, outcomes[index] ?? []));
      return outcomes;
    },
    async recordHandshake(delivery, content) {
      await store.recordHandshake(delivery, content);
      delivered(delivery, delivery.outcome);
    },
    async recordSourceEvent(given) {
      const recorded = await store.recordSourceEvent(given);
      delivered(given.delivery, recorded.status);
      return recorded;
    },
    async routeSourceEvent(id, routing, now) {
      const routed = await store.routeSourceEvent(id, routing, now);
      if (routed.ended === true) ended("failed");
      return routed;
    },
    async claimTasks(limit, now) {
      const claim = await store.claimTasks(limit, now);
      for (const { task } of claim.tasks) {
        running.set(task.id, task);
        if (task.restarts > 0) continue;
        metrics.taskStart((now - task.createdAt) / 1000);
        minutes.taskStart(task, now - task.createdAt);
      }
      return claim;
    },
    async saveStep(taskId, step) {
      await store.saveStep(taskId, step);
      stepStored(step);
    },
    async finishTask(end) {
      const isEnd = await store.finishTask(end);
      for (const step of end.steps ?? []) stepStored(step);
      const task = running.get(end.taskId);
      running.delete(end.taskId);
      if (!isEnd) return isEnd;
      ended(end.state);
      const { startedAt = end.now } = task ?? {};
      if (task !== undefined) metrics.taskEnd(task, end.state, (end.now - startedAt) / 1000);
      return isEnd;
    },
    async requeueTask(taskId, steps = []) {
      await store.requeueTask(taskId, steps);
      for (const step of steps) stepStored(step);
      running.delete(taskId);
    },
    async cancelTask(taskId, end) {
      const result = await store.cancelTask(taskId, end);
      if (result === "cancelled") ended("cancelled");
      return result;
    },
    async noteConnection(key, news, now) {
      const state = await store.noteConnection(key, news, now);
      metrics.gap("repaired", news.gap?.repaired ?? 0);
      metrics.gap("lost", news.gap?.lost ?? 0);
      return state;
    },
    async startAudit(start) {
      await store.startAudit(start);
      plugins.set(start.id, start.pluginType);
    },
    async finishAudit(id, end) {
      await store.finishAudit(id, end);
      const type = plugins.get(id);
      plugins.delete(id);
      const { result, durationMs } = end;
      const secs = durationMs === undefined ? undefined : durationMs / 1000;
      if (type !== undefined) metrics.pluginEnd(type, result, secs);
    },
    async recordAudit(rows) {
      await store.recordAudit(rows);
      for (const { start, end } of rows) {
        if (start.action === "execute") metrics.pluginEnd(start.pluginType, end.result, undefined);
      }
    },
    async finishMessage(id, result, now) {
      const message = await store.finishMessage(id, result, now);
      if (message !== undefined && message.state !== "pending") {
        metrics.messageEnd(message.kind, message.state);
      }
      return message;
    },
  } satisfies Partial<Store>;
  return { ...store, ...own };
}
