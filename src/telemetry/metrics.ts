/**
 * The metrics of the daemon in the format of Prometheus. No value of a request becomes a label:
 * projects, triggers and workflows are those that were applied, and all other labels are from
 * closed lists.
 *
 * @module
 */

import { READ, type Readings } from "./readings.ts";
import { Counter, Histogram, Histograms, type Sample } from "./counters.ts";
import { exposition, type Metric } from "./exposition.ts";

/** Returns whether a trigger still exists. */
export type TriggerExists = (project: string, trigger: string) => boolean;

/** Most series with names that users gave; further ones count under {@linkcode OTHERS}. */
const MAX_NAMED = 5000;
/** No name that a user gave: those have no brackets. */
const OTHERS = "(others)";

const REQUEST_SECS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const COMMIT_SECS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const BATCH_CALLS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000];
const TASK_SECS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400];
const DELAY_SECS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 30, 60, 300, 1800];
const PLUGIN_SECS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Every metric that is counted as things happen. */
export class Metrics {
  readonly #deliveries = new Counter("project", "trigger", "outcome");
  readonly #requests = new Map<number, Histogram>();
  readonly #commits = new Histogram(COMMIT_SECS);
  readonly #batches = new Histogram(BATCH_CALLS);
  readonly #delays = new Histogram(DELAY_SECS);
  readonly #tasks = new Histograms(TASK_SECS);
  readonly #steps = new Counter("state");
  readonly #plugins = new Counter("type", "result");
  readonly #gaps = new Counter("result");
  readonly #messages = new Counter("kind", "state");
  readonly #outputs = new Counter("kind", "result");
  readonly #pluginSecs = new Histograms(PLUGIN_SECS);
  #late = 0;
  readonly #build: { readonly version: string; readonly deno: string };

  /** Starts with every count at zero. */
  constructor(build: { readonly version: string; readonly deno: string }) {
    this.#build = build;
  }

  /** Counts a delivery by its outcome. */
  delivery(project: string, trigger: string, outcome: string): void {
    const counter = this.#deliveries;
    if (counter.size < MAX_NAMED || counter.has(project, trigger)) {
      counter.add(project, trigger, outcome);
    } else counter.add(OTHERS, OTHERS, outcome);
  }

  /** Counts an answered request of the webhook server. */
  request(status: number, secs: number): void {
    let histogram = this.#requests.get(status);
    if (histogram === undefined) {
      this.#requests.set(status, histogram = new Histogram(REQUEST_SECS));
    }
    histogram.add(secs);
  }

  /** Counts a written batch of store calls. */
  commit(calls: number, secs: number): void {
    this.#commits.add(secs);
    this.#batches.add(calls);
  }

  /** Measures the delay between a delivery and the start of its task. */
  taskStart(delaySecs: number): void {
    this.#delays.add(Math.max(0, delaySecs));
  }

  /** Counts a task that ran and has ended. */
  taskEnd(task: { project: string; workflow: string }, state: string, secs: number): void {
    const key = `${task.project}/${task.workflow}/${state}`;
    const isNamed = this.#tasks.size < MAX_NAMED || this.#tasks.has(key);
    const { project, workflow } = isNamed ? task : { project: OTHERS, workflow: OTHERS };
    const labels = () => ({ project, workflow, state });
    this.#tasks.at(isNamed ? key : `${OTHERS}/${state}`, labels).add(Math.max(0, secs));
  }

  stepEnd(state: string): void {
    this.#steps.add(state);
  }

  /** Counts a plugin that ran, in `secs`, or was denied. */
  pluginEnd(type: string, result: string, secs: number | undefined): void {
    this.#plugins.add(type, result);
    if (secs !== undefined) this.#pluginSecs.at(type, () => ({ type })).add(secs);
  }

  /** Counts a message that was sent or given up. */
  messageEnd(kind: string, state: string): void {
    this.#messages.add(kind, state);
  }

  /** Counts what a task asked to do at a platform. */
  output(kind: string, result: string): void {
    this.#outputs.add(kind, result);
  }

  /** Counts events that a platform could not deliver at first. */
  gap(result: "repaired" | "lost", count: number): void {
    for (let n = 0; n < count; n++) this.#gaps.add(result);
  }

  /** Counts an expression that exceeded its time limit. */
  lateExpression(): void {
    this.#late++;
  }

  /**
   * The metrics in the text format of Prometheus, with values that were read just now. Deliveries of
   * triggers that no longer exist are left out.
   */
  text(readings: Partial<Readings>, exists: TriggerExists): string {
    this.#deliveries.prune(({ project = "", trigger = "" }) =>
      project === OTHERS || exists(project, trigger)
    );
    return exposition([
      counter("svc_deliveries_total", "Deliveries by outcome", this.#deliveries.samples()),
      histogram(
        "svc_webhook_request_duration_seconds",
        "Time from the headers of a request to its answer, by status",
        [...this.#requests].flatMap(([status, histogram]) => histogram.samples({ status })),
      ),
      histogram(
        "svc_commit_duration_seconds",
        "Time of a commit until it is on disk",
        this.#commits.samples({}),
      ),
      histogram("svc_commit_batch_size", "Writes that shared a commit", this.#batches.samples({})),
      histogram(
        "svc_task_start_delay_seconds",
        "Time from the arrival of a delivery to the start of its task",
        this.#delays.samples({}),
      ),
      histogram(
        "svc_task_duration_seconds",
        "Time that tasks ran, from start to end",
        this.#tasks.samples(),
      ),
      counter("svc_steps_total", "Steps that ended, by state", this.#steps.samples()),
      counter("svc_plugin_runs_total", "Plugins and hooks by result", this.#plugins.samples()),
      counter(
        "svc_outbox_messages_ended_total",
        "Outbox messages that were sent or given up, by kind and state",
        this.#messages.samples(),
      ),
      counter(
        "svc_outputs_total",
        "What tasks asked to do at platforms, by kind and result: queued, held or refused",
        this.#outputs.samples(),
      ),
      counter(
        "svc_connection_missed_events_total",
        "Events that a platform could not deliver at first, by result: repaired or lost",
        this.#gaps.samples(),
      ),
      histogram(
        "svc_plugin_duration_seconds",
        "How long plugins and hooks ran",
        this.#pluginSecs.samples(),
      ),
      counter(
        "svc_expressions_late_total",
        "CEL expressions that were stopped at their time limit",
        [{ labels: {}, value: this.#late }],
      ),
      gauge("svc_build_info", "Version of the program and of its runtime", [{
        labels: { ...this.#build },
        value: 1,
      }]),
      ...READ.map(({ name, type, help }) => ({
        name: `svc_${name}`,
        type,
        help,
        samples: (readings[name] ?? []).map(({ value, ...labels }) => ({ labels, value })),
      })),
    ]);
  }
}

function counter(name: string, help: string, samples: readonly Sample[]): Metric {
  return { name, type: "counter", help, samples };
}

function gauge(name: string, help: string, samples: readonly Sample[]): Metric {
  return { name, type: "gauge", help, samples };
}

function histogram(name: string, help: string, samples: readonly Sample[]): Metric {
  return { name, type: "histogram", help, samples };
}
