/**
 * Metrics in the text format of Prometheus.
 *
 * @module
 */

import type { Sample } from "./counters.ts";

/** A metric with its present values. */
export interface Metric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  /** One line that says what it counts or measures. */
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** Content type of {@linkcode exposition}. */
export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The text of the metrics, in their order. */
export function exposition(metrics: readonly Metric[]): string {
  return metrics.map(textOf).join("\n");
}

function textOf({ name, type, help, samples }: Metric): string {
  const lines = samples.map(({ labels, value, suffix = "" }) =>
    `${name}${suffix}${labelsText(labels)} ${valueText(value)}\n`
  );
  return `# HELP ${name} ${escape(help)}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function labelsText(labels: Sample["labels"]): string {
  const pairs = Object.entries(labels).map(([name, value]) =>
    `${name}="${escape(String(value)).replaceAll('"', '\\"')}"`
  );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escape(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function valueText(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}
