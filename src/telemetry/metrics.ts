/**
 * The metrics of the daemon in the format of Prometheus; the only importer of its client library.
 * No value of a request becomes a label: projects, triggers and workflows are those that were
 * applied, and everything else is from closed lists.
 *
 * @module
 */

import { type Metric, Registry } from "prom-client";
import { READ, type Readings } from "./readings.ts";
import { type Sample, Spread, Spreads, Tally } from "./tally.ts";

/** Whether a trigger is still there. */
export type TriggerExists = (project: string, trigger: string) => boolean;

/** What metrics are asked with. */
export interface MetricsText {
  /** What is read just now. */
  readonly readings: Readings;
  /** Triggers that are gone are left out. */
  readonly exists: TriggerExists;
}

/** Most series with names that people give; what is beyond counts under {@linkcode OTHERS}. */
const MAX_NAMED = 5000;
/** No name of anything: names have no brackets. */
const OTHERS = "(others)";

const REQUEST_SECS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const COMMIT_SECS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const BATCH_CALLS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000];
const TASK_SECS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400];
const DELAY_SECS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 30, 60, 300, 1800];
const PLUGIN_SECS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Counts and measures what happens. */
export class Metrics {
  readonly #deliveries = new Tally("project", "trigger", "outcome");
  readonly #requests = new Map<number, Spread>();
  readonly #commits = new Spread(COMMIT_SECS);
  readonly #batches = new Spread(BATCH_CALLS);
  readonly #delays = new Spread(DELAY_SECS);
  readonly #tasks = new Spreads(TASK_SECS);
  readonly #steps = new Tally("state");
  readonly #plugins = new Tally("type", "result");
  readonly #pluginSecs = new Spreads(PLUGIN_SECS);
  #late = 0;
  #readings: Readings = {};
  readonly #registry = new Registry();

  /** Without anything counted. */
  constructor(build: { readonly version: string; readonly deno: string }) {
    this.#add("counter", "svc_deliveries_total", "Deliveries by what became of them", {
      samples: () => this.#deliveries.samples(),
    });
    this.#add(
      "histogram",
      "svc_webhook_request_duration_seconds",
      "From the headers of a request to its answer, by status",
      {
        samples: () =>
          [...this.#requests].flatMap(([status, spread]) => spread.samples({ status })),
      },
    );
    this.#add(
      "histogram",
      "svc_commit_duration_seconds",
      "Writing a batch to the database, until it is on disk",
      { samples: () => this.#commits.samples({}) },
    );
    this.#add("histogram", "svc_commit_batch_size", "Calls that share a commit", {
      samples: () => this.#batches.samples({}),
    });
    this.#add(
      "histogram",
      "svc_task_start_delay_seconds",
      "From the arrival of a delivery to the start of its task",
      { samples: () => this.#delays.samples({}) },
    );
    this.#add(
      "histogram",
      "svc_task_duration_seconds",
      "Tasks that ran, from their start to their end",
      this.#tasks,
    );
    this.#add("counter", "svc_steps_total", "Steps that ended, by state", this.#steps);
    this.#add("counter", "svc_plugin_runs_total", "Plugins and hooks by result", this.#plugins);
    this.#add(
      "histogram",
      "svc_plugin_duration_seconds",
      "How long plugins and hooks ran",
      this.#pluginSecs,
    );
    this.#add(
      "counter",
      "svc_expressions_late_total",
      "Expressions that were given up at their deadline",
      { samples: () => [{ labels: {}, value: this.#late }] },
    );
    this.#add("gauge", "svc_build_info", "Version of the program and of its runtime", {
      samples: () => [{ labels: { ...build }, value: 1 }],
    });
    for (const { name, type, help } of READ) {
      this.#add(type, `svc_${name}`, help, {
        samples: () =>
          (this.#readings[name] ?? []).map(({ value, ...labels }) => ({ labels, value })),
      });
    }
  }

  /** A delivery, with what became of it. */
  delivery(project: string, trigger: string, outcome: string): void {
    const tally = this.#deliveries;
    if (tally.size < MAX_NAMED || tally.has(project, trigger)) tally.add(project, trigger, outcome);
    else tally.add(OTHERS, OTHERS, outcome);
  }

  /** A request of the webhook server was answered. */
  request(status: number, secs: number): void {
    let spread = this.#requests.get(status);
    if (spread === undefined) this.#requests.set(status, spread = new Spread(REQUEST_SECS));
    spread.add(secs);
  }

  /** A batch of calls was written. */
  commit(calls: number, secs: number): void {
    this.#commits.add(secs);
    this.#batches.add(calls);
  }

  /** A task starts, so long after its delivery came. */
  taskStart(delaySecs: number): void {
    this.#delays.add(Math.max(0, delaySecs));
  }

  /** A task that ran has ended. */
  taskEnd(task: { project: string; workflow: string }, state: string, secs: number): void {
    const key = `${task.project}/${task.workflow}/${state}`;
    const isNamed = this.#tasks.size < MAX_NAMED || this.#tasks.has(key);
    const { project, workflow } = isNamed ? task : { project: OTHERS, workflow: OTHERS };
    const labels = () => ({ project, workflow, state });
    this.#tasks.at(isNamed ? key : `${OTHERS}/${state}`, labels).add(Math.max(0, secs));
  }

  /** A step has ended. */
  stepEnd(state: string): void {
    this.#steps.add(state);
  }

  /** A plugin has run, or was not let. */
  pluginEnd(type: string, result: string, secs: number | undefined): void {
    this.#plugins.add(type, result);
    if (secs !== undefined) this.#pluginSecs.at(type, () => ({ type })).add(secs);
  }

  /** An expression was given up. */
  lateExpression(): void {
    this.#late++;
  }

  /** The text that Prometheus reads. */
  async text({ readings, exists }: MetricsText): Promise<string> {
    this.#readings = readings;
    this.#deliveries.prune(({ project = "", trigger = "" }) =>
      project === OTHERS || exists(project, trigger)
    );
    return await this.#registry.metrics();
  }

  /** All that the library asks of a metric is this. */
  #add(
    type: "counter" | "gauge" | "histogram",
    name: string,
    help: string,
    source: { samples(): readonly Sample[] },
  ): void {
    const get = () =>
      Promise.resolve({
        name,
        help,
        type,
        aggregator: "sum",
        values: source.samples().map(({ labels, value, suffix }) => ({
          labels,
          value,
          ...(suffix === undefined ? {} : { metricName: name + suffix }),
        })),
      });
    this.#registry.registerMetric({ name, help, type, get } as unknown as Metric);
  }
}
