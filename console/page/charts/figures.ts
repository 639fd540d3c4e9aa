/**
 * The figures of charts: values minute by minute, folded so that a chart and the table under it have
 * the same and not too many. Pure.
 *
 * @module
 */

import type { Percentiles, Stats } from "../../../src/api/status_operations.ts";

/** One line or one part of the bars. */
export interface Series {
  readonly label: string;
  /** Name of its colour in the style. */
  readonly tone: "good" | "bad" | "busy" | "pending" | "faint" | "text";
  readonly values: readonly (number | null)[];
  /** What belongs to it, where the label does not say so. */
  readonly about?: string;
}

/** What one chart shows. */
export interface Figures {
  /** Start of each interval, in milliseconds since the epoch. */
  readonly times: readonly number[];
  readonly stepMs: number;
  readonly series: readonly Series[];
  readonly unit: "count" | "ms";
}

/** A span that can be chosen, and the minutes that are one value in it. */
export interface Span {
  readonly name: string;
  readonly minutes: number;
  readonly fold: number;
}

/** The spans, the shortest first. */
export const SPANS: readonly Span[] = [
  { name: "1h", minutes: 60, fold: 1 },
  { name: "6h", minutes: 360, fold: 5 },
  { name: "24h", minutes: 1440, fold: 15 },
];

/** Outcomes of deliveries that are rare enough to be counted together. */
const OTHER = ["duplicate", "skipped", "handshake"];

type Values = readonly (number | null)[];

/** Deliveries: what was accepted, what a filter let go, what was refused, and the rest. */
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

/** Percentiles of a time; of several minutes, the worst. */
export function latencyFigures(stats: Stats, span: Span, of: "answer_ms" | "start_ms"): Figures {
  const { p50, p95, p99 }: Percentiles = stats[of];
  const series: readonly Series[] = [
    { label: "p50", tone: "busy", values: p50 },
    { label: "p95", tone: "pending", values: p95 },
    { label: "p99", tone: "bad", values: p99 },
  ];
  return folded(stats, span, { series, unit: "ms", how: highest });
}

/** How much waited and ran; of several minutes, the most. */
export function queueFigures(stats: Stats, span: Span): Figures | undefined {
  if (stats.queue === undefined) return undefined;
  const series: readonly Series[] = [
    { label: "pending", tone: "pending", values: stats.queue.pending },
    { label: "running", tone: "busy", values: stats.queue.running },
  ];
  return folded(stats, span, { series, unit: "count", how: highest });
}

/** What a series comes to at rest: its sum where it counts events, else its latest value. */
export function summary(values: Values, sums: boolean): number | null {
  return sums ? sum(values) : values.findLast((value) => value !== null) ?? null;
}

/** Whether there is anything to show. */
export function isEmpty({ series }: Figures): boolean {
  return series.every(({ values }) => values.every((value) => value === null || value === 0));
}

/** Values in so many parts of about the same length: their sums, or the highest of each. */
export function trend(values: Values, parts: number, sums: boolean): readonly number[] {
  return Array.from({ length: parts }, (_, at) => {
    const [from, to] = [at, at + 1].map((one) => Math.floor(one * values.length / parts));
    const part = values.slice(from, to);
    return (sums ? sum(part) : highest(part)) ?? 0;
  });
}

/** Most intervals of which each is a bar: a line through so few says what was never measured. */
const FEW = 12;

/** Whether there was something in a few intervals only. */
export function isSparse(figures: Figures): boolean {
  return filledIntervals(figures).length <= FEW;
}

/** The intervals in which there was something, the newest first, each with its values. */
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
  // Intervals begin at even times, so that they stay what they are from look to look; the first one
  // is left out where it is not whole.
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
