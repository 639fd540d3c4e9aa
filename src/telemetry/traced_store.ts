/**
 * A store that reports what is stored as spans: a delivery with its stages, its task with its steps
 * in the same trace (even after a restart), and plugins. Used only where traces are collected.
 *
 * @module
 */

import type { WallClock } from "../base/clock.ts";
import type { Admitted, Delivery, EventOutcome, NewDelivery } from "../store/delivery_records.ts";
import type { Store } from "../store/store.ts";
import type { StepRecord } from "../store/task_records.ts";
import type { StartSpan, TraceSpan } from "./tracing.ts";

/** What spans need. */
export interface TracedStoreHost {
  readonly startSpan: StartSpan;
  readonly clock: WallClock;
}

/** Wraps a store so that its calls are reported as spans. */
export function withTracing(store: Store, { startSpan, clock }: TracedStoreHost): Store {
  const tasks = new Map<string, TraceSpan>();
  const plugins = new Map<string, TraceSpan>();

  const beginDelivery = (delivery: NewDelivery["delivery"]): TraceSpan => {
    const { receivedAt: at, detail } = delivery;
    const span = startSpan({ name: "delivery", at, attributes: deliveryFacts(delivery) });
    let since = at;
    for (const [stage, afterMs] of Object.entries(detail.stages)) {
      const part = startSpan({ name: stage, at: since, parent: span.traceparent, attributes: {} });
      part.end({ failed: false, at: since = at + afterMs });
    }
    return span;
  };

  /** The spans of a delivery that is being stored; without outcomes, that has failed. */
  const beginCommit = ({ delivery, events }: Pick<NewDelivery, "delivery" | "events">) => {
    const span = beginDelivery(delivery);
    const commit = startSpan({ name: "commit", parent: span.traceparent, attributes: {} });
    return {
      events: events.map((event) => withTrace(event, span.traceparent)),
      end(outcomes: readonly EventOutcome[] | undefined) {
        const failed = outcomes === undefined;
        commit.end({ failed });
        if (!failed) {
          const ids = outcomes.flatMap(({ taskId }) => taskId ?? []).join(" ");
          const first = outcomes[0]?.outcome;
          span.note({ "svc.outcome": first, "svc.task.id": ids === "" ? undefined : ids });
        }
        span.end({ failed });
      },
    };
  };

  const own = {
    async recordDelivery(given) {
      const commit = beginCommit(given);
      try {
        const outcomes = await store.recordDelivery({ ...given, events: commit.events });
        commit.end(outcomes);
        return outcomes;
      } catch (error) {
        commit.end(undefined);
        throw error;
      }
    },
    async recordDeliveries(given) {
      const commits = given.deliveries.map(beginCommit);
      const deliveries = given.deliveries.map(({ delivery, events }, index) => ({
        delivery,
        events: commits[index]?.events ?? events,
      }));
      try {
        const outcomes = await store.recordDeliveries({ ...given, deliveries });
        commits.forEach((commit, index) => commit.end(outcomes[index] ?? []));
        return outcomes;
      } catch (error) {
        for (const commit of commits) commit.end(undefined);
        throw error;
      }
    },
    async claimTasks(limit, now) {
      const claim = await store.claimTasks(limit, now);
      for (const { task, trace } of claim.tasks) {
        tasks.set(
          task.id,
          startSpan({
            name: "task",
            at: now,
            // Without a parent it gets a trace of its own, not that of the request that woke the
            // worker.
            parent: trace ?? "none",
            attributes: {
              "svc.project": task.project,
              "svc.trigger": task.trigger,
              "svc.task.id": task.id,
              "svc.workflow": task.workflow,
              "svc.workspace": task.workspace,
              "svc.delivery.id": task.deliveryId || undefined,
            },
          }),
        );
      }
      return claim;
    },
    async saveStep(taskId, step) {
      await store.saveStep(taskId, step);
      stepStored(taskId, step);
    },
    async finishTask(end) {
      const ended = await store.finishTask(end);
      for (const step of end.steps ?? []) stepStored(end.taskId, step);
      endTask(end.taskId, end.state);
      return ended;
    },
    async requeueTask(taskId, steps = []) {
      await store.requeueTask(taskId, steps);
      for (const step of steps) stepStored(taskId, step);
      endTask(taskId, "interrupted");
    },
    async startAudit(start) {
      await store.startAudit(start);
      const attributes = {
        "svc.plugin.type": start.pluginType,
        "svc.plugin.name": start.pluginName,
        "svc.plugin.kind": start.crdKind,
        "svc.delivery.id": start.deliveryId || undefined,
      };
      plugins.set(start.id, startSpan({ name: "plugin", at: start.createdAt, attributes }));
    },
    async finishAudit(id, end) {
      await store.finishAudit(id, end);
      const span = plugins.get(id);
      plugins.delete(id);
      span?.note({ "svc.result": end.result, "svc.exit_code": end.exitCode });
      span?.end({ failed: end.result !== "ok", at: end.finishedAt });
    },
  } satisfies Partial<Store>;

  const stepStored = (taskId: string, step: StepRecord) => {
    const task = tasks.get(taskId);
    if (task !== undefined) reportStep(step, { taskId, task, startSpan });
  };

  const endTask = (id: string, state: string) => {
    const span = tasks.get(id);
    tasks.delete(id);
    span?.note({ "svc.state": state });
    span?.end({ failed: state === "failed", at: clock.now() });
  };

  return { ...store, ...own };
}

function withTrace(event: Admitted, trace: string): Admitted {
  return event.outcome === "accepted" ? { ...event, task: { ...event.task, trace } } : event;
}

function deliveryFacts({ id, project, trigger, source }: Pick<
  Delivery,
  "id" | "project" | "trigger" | "source"
>) {
  return {
    "svc.delivery.id": id,
    "svc.project": project,
    "svc.trigger": trigger,
    "svc.source": source,
  };
}

/** Reports a rejected request; its record is written some time later, and not always. */
export function reportRefusal(delivery: Delivery, startSpan: StartSpan): void {
  const { receivedAt: at, durationMs, outcome, status } = delivery;
  startSpan({
    name: "delivery",
    at,
    attributes: {
      ...deliveryFacts(delivery),
      "svc.outcome": outcome,
      "http.response.status_code": status,
    },
  }).end({ failed: false, at: at + durationMs });
}

function reportStep(
  step: StepRecord,
  { taskId, task, startSpan }: { taskId: string; task: TraceSpan; startSpan: StartSpan },
): void {
  const { startedAt, finishedAt } = step;
  // still running, or never started
  if (startedAt === undefined || finishedAt === undefined) return;
  startSpan({
    name: "step",
    at: startedAt,
    parent: task.traceparent,
    attributes: {
      "svc.task.id": taskId,
      "svc.step.id": step.id,
      "svc.state": step.state,
      "svc.exit_code": step.exitCode,
      "svc.step.attempt": step.attempt,
    },
  }).end({ failed: step.state === "failed", at: finishedAt });
}
