/**
 * Stored records as spans: a delivery with its stages, its task with its steps in the same trace
 * (even after a restart), and plugins. Used only where traces are collected.
 *
 * @module
 */

import type { WallClock } from "../base/clock.ts";
import type {
  Admitted,
  DecidedDelivery,
  Delivery,
  DeliveryFacts,
  EventOutcome,
} from "../store/delivery_records.ts";
import type { Store } from "../store/store.ts";
import { observeStore, type StoreObserver } from "./store_observer.ts";
import type { StartSpan, TraceSpan } from "./tracing.ts";

/** Wraps a store so that its calls are reported as spans. */
export function withTracing(store: Store, startSpan: StartSpan, clock: WallClock): Store {
  return observeStore(withCommitSpans(store, startSpan), spansOf(startSpan, clock));
}

/**
 * Wraps the two calls that store deliveries: their spans begin before, so that the tasks that they
 * store belong to the same trace.
 */
function withCommitSpans(store: Store, startSpan: StartSpan): Store {
  const own: Pick<Store, "recordDelivery" | "recordDeliveries"> = {
    async recordDelivery(given) {
      const span = new DeliverySpan(given, startSpan);
      try {
        const outcomes = await store.recordDelivery({ ...given, events: span.events });
        span.stored(outcomes);
        return outcomes;
      } catch (error) {
        span.failed();
        throw error;
      }
    },
    async recordDeliveries(given) {
      const spans = given.deliveries.map((one) => new DeliverySpan(one, startSpan));
      const deliveries = spans.map(({ delivery, events }) => ({ delivery, events }));
      try {
        const outcomes = await store.recordDeliveries({ ...given, deliveries });
        spans.forEach((span, index) => span.stored(outcomes[index] ?? []));
        return outcomes;
      } catch (error) {
        for (const span of spans) span.failed();
        throw error;
      }
    },
  };
  return { ...store, ...own };
}

/** The spans of a delivery that is being stored: its own, those of its stages and of its commit. */
class DeliverySpan {
  readonly delivery: DeliveryFacts;
  /** Its events; the tasks of those that start one belong to its trace. */
  readonly events: readonly Admitted[];
  readonly #span: TraceSpan;
  readonly #commit: TraceSpan;

  constructor({ delivery, events }: DecidedDelivery, start: StartSpan) {
    const { receivedAt, detail } = delivery;
    this.delivery = delivery;
    this.#span = start({
      name: "delivery",
      at: receivedAt,
      attributes: deliveryAttributes(delivery),
    });
    const { traceparent } = this.#span;
    let at = receivedAt;
    for (const [name, afterMs] of Object.entries(detail.stages)) {
      const stage = start({ name, at, parent: traceparent, attributes: {} });
      at = receivedAt + afterMs;
      stage.end({ failed: false, at });
    }
    this.#commit = start({ name: "commit", parent: traceparent, attributes: {} });
    this.events = events.map((event) => withTrace(event, traceparent));
  }

  stored(outcomes: readonly EventOutcome[]): void {
    this.#commit.end({ failed: false });
    const taskIds = outcomes.flatMap(({ taskId }) => taskId ?? []).join(" ");
    this.#span.note({
      "svc.outcome": outcomes[0]?.outcome,
      "svc.task.id": taskIds === "" ? undefined : taskIds,
    });
    this.#span.end({ failed: false });
  }

  failed(): void {
    this.#commit.end({ failed: true });
    this.#span.end({ failed: true });
  }
}

function withTrace(event: Admitted, trace: string): Admitted {
  return event.outcome === "accepted" ? { ...event, task: { ...event.task, trace } } : event;
}

function deliveryAttributes({ id, project, trigger, source }: DeliveryFacts) {
  return {
    "svc.delivery.id": id,
    "svc.project": project,
    "svc.trigger": trigger,
    "svc.source": source,
  };
}

/** The observer that reports tasks, steps and plugins as spans. */
function spansOf(startSpan: StartSpan, clock: WallClock): StoreObserver {
  const tasks = new Map<string, TraceSpan>();
  return {
    taskStarted({ task, trace }, now) {
      const span = startSpan({
        name: "task",
        at: now,
        // Without a parent it gets a trace of its own, not that of the request that woke the worker.
        parent: trace ?? "none",
        attributes: {
          "svc.project": task.project,
          "svc.trigger": task.trigger,
          "svc.task.id": task.id,
          "svc.workflow": task.workflow,
          "svc.workspace": task.workspace,
          "svc.delivery.id": task.deliveryId || undefined,
        },
      });
      tasks.set(task.id, span);
    },
    stepEnded(taskId, { id, state, exitCode, attempt, startedAt, finishedAt }) {
      const task = tasks.get(taskId);
      if (task === undefined || startedAt === undefined || finishedAt === undefined) return;
      startSpan({
        name: "step",
        at: startedAt,
        parent: task.traceparent,
        attributes: {
          "svc.task.id": taskId,
          "svc.step.id": id,
          "svc.state": state,
          "svc.exit_code": exitCode,
          "svc.step.attempt": attempt,
        },
      }).end({ failed: state === "failed", at: finishedAt });
    },
    taskLeft(taskId, state) {
      const span = tasks.get(taskId);
      tasks.delete(taskId);
      span?.note({ "svc.state": state });
      span?.end({ failed: state === "failed", at: clock.now() });
    },
    pluginEnded(start, { result, exitCode, finishedAt }) {
      startSpan({
        name: "plugin",
        at: start.createdAt,
        attributes: {
          "svc.plugin.type": start.pluginType,
          "svc.plugin.name": start.pluginName,
          "svc.plugin.kind": start.crdKind,
          "svc.delivery.id": start.deliveryId || undefined,
          "svc.result": result,
          "svc.exit_code": exitCode,
        },
      }).end({ failed: result !== "ok", at: finishedAt });
    },
  };
}

/** Reports a rejected request; its record is written some time later, and not always. */
export function reportRefusal(delivery: Delivery, startSpan: StartSpan): void {
  const { receivedAt: at, durationMs, outcome, status } = delivery;
  startSpan({
    name: "delivery",
    at,
    attributes: {
      ...deliveryAttributes(delivery),
      "svc.outcome": outcome,
      "http.response.status_code": status,
    },
  }).end({ failed: false, at: at + durationMs });
}
