/**
 * The figures of charts: values for each minute, folded into longer intervals, so that a chart and
 * its table show the same, limited number of values. Pure.
 *
 * @module
 */

import type { Percentiles, Stats } from "../../../src/api/status_operations.ts";

/** A line of a chart, or a part of its bars. */
export interface Series {
  readonly label: string;
  /** The name of its colour in the style sheet. */
  readonly tone: "good" | "bad" | "busy" | "pending" | "faint" | "text";
  readonly values: readonly (number | null)[];
  /** The parts of the series, if the label does not name them. */
  readonly about?: string;
}

/** The values of a chart. */
export interface Figures {
  /** Start of each interval, in milliseconds since the epoch. */
  readonly times: readonly number[];
  readonly stepMs: number;
  readonly series: readonly Series[];
  readonly unit: "count" | "ms";
}

/** A span to choose, and the number of minutes (`fold`) that make a value. */
export interface Span {
  readonly name: string;
  readonly minutes: number;
  readonly fold: number;
}

/** The spans to choose from, the shortest first. */
export const SPANS: readonly Span[] = [
  { name: "1h", minutes: 60, fold: 1 },
  { name: "6h", minutes: 360, fold: 5 },
  { name: "24h", minutes: 1440, fold: 15 },
];

/** Rare outcomes of deliveries, which are counted together. */
const OTHER = ["duplicate", "skipped", "handshake"];

type Values = readonly (number | null)[];

/** Deliveries by outcome: accepted, filtered, rejected, and the sum of the others. */
export function deliveryFigures(stats: Stats, span: Span): Figures {
  const of = (...outcomes: readonly string[]) =>
    added(outcomes.map((one) => stats.deliveries[one]));
  const other = of(...OTHER);
  const series: readonly Series[] = [
    { label: "accepted", tone: "good", values: of("accepted") },
    { label: "filtered", tone: "faint", values: of("filtered") },
    { label: "rejected", tone: "bad", values: of("rejected") },
    ...(other.some((value) => value !== null && value > 0)
      ? [{ label: "other", about: OTHER.join(", "), tone: "busy" as const, values: other }]
      : []),
  ];
  return folded(stats, span, { series, unit: "count", how: sum });
}

/** Percentiles of a time; several minutes fold into the highest value. */
export function latencyFigures(stats: Stats, span: Span, of: "answer_ms" | "start_ms"): Figures {
  const { p50, p95, p99 }: Percentiles = stats[of];
  const series: readonly Series[] = [
    { label: "p50", tone: "busy", values: p50 },
    { label: "p95", tone: "pending", values: p95 },
    { label: "p99", tone: "bad", values: p99 },
  ];
  return folded(stats, span, { series, unit: "ms", how: highest });
}

/** Pending and running tasks; several minutes fold into the highest value. */
export function queueFigures(stats: Stats, span: Span): Figures | undefined {
  if (stats.queue === undefined) return undefined;
  const series: readonly Series[] = [
    { label: "pending", tone: "pending", values: stats.queue.pending },
    { label: "running", tone: "busy", values: stats.queue.running },
  ];
  return folded(stats, span, { series, unit: "count", how: highest });
}

/** A series as a single value: the sum if it counts events, else the latest value. */
export function summary(values: Values, sums: boolean): number | null {
  return sums ? sum(values) : values.findLast((value) => value !== null) ?? null;
}

/** Whether no series has a value above zero. */
export function isEmpty({ series }: Figures): boolean {
  return series.every(({ values }) => values.every((value) => value === null || value === 0));
}

/** Values in `parts` parts of about the same length: the sum of each, or its highest value. */
export function trend(values: Values, parts: number, sums: boolean): readonly number[] {
  return Array.from({ length: parts }, (_, at) => {
    const [from, to] = [at, at + 1].map((one) => Math.floor(one * values.length / parts));
    const part = values.slice(from, to);
    return (sums ? sum(part) : highest(part)) ?? 0;
  });
}

/**
 * Most filled intervals that are drawn as bars: a line between so few points would show values that
 * were never measured.
 */
const FEW = 12;

/** Whether at most {@linkcode FEW} intervals have a value above zero. */
export function isSparse(figures: Figures): boolean {
  return filledIntervals(figures).length <= FEW;
}

/** The intervals with a value above zero, newest first. */
export function filledIntervals(
  { times, series }: Figures,
): readonly { readonly at: number; readonly values: Values }[] {
  return times.map((at, index) => ({
    at,
    values: series.map(({ values }) => values[index] ?? null),
  })).filter(({ values }) => values.some((value) => value !== null && value !== 0)).reverse();
}

function folded(
  { from, step_secs }: Stats,
  { fold }: Span,
  { series, unit, how }: {
    readonly series: readonly Series[];
    readonly unit: Figures["unit"];
    readonly how: (values: Values) => number | null;
  },
): Figures {
  const minuteMs = step_secs * 1000;
  const stepMs = fold * minuteMs;
  const start = Date.parse(from);
  // Intervals begin at multiples of their length, so that an update does not shift them. An
  // incomplete first interval is left out.
  const skipped = Math.round((Math.ceil(start / stepMs) * stepMs - start) / minuteMs);
  const length = Math.max(0, ...series.map(({ values }) => values.length));
  const count = Math.max(0, Math.ceil((length - skipped) / fold));
  const times = Array.from({ length: count }, (_, at) => start + skipped * minuteMs + at * stepMs);
  const foldOne = (values: Values) =>
    times.map((_, at) => how(values.slice(skipped + at * fold, skipped + (at + 1) * fold)));
  return {
    times,
    stepMs,
    series: series.map((one) => ({ ...one, values: foldOne(one.values) })),
    unit,
  };
}

function added(lists: readonly (readonly number[] | undefined)[]): Values {
  const length = Math.max(0, ...lists.map((list) => list?.length ?? 0));
  return Array.from(
    { length },
    (_, at) => lists.reduce((total, list) => total + (list?.[at] ?? 0), 0),
  );
}

function sum(values: Values): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0);
}

function highest(values: Values): number | null {
  return values.reduce<number | null>(
    (most, value) => value === null || (most !== null && most >= value) ? most : value,
    null,
  );
}
