/**
 * The figures of charts: values of minutes, folded to those of longer intervals.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import {
  deliveryFigures,
  filledIntervals,
  isEmpty,
  isSparse,
  latencyFigures,
  queueFigures,
  type Span,
  SPANS,
  trend,
} from "../../console/page/charts/figures.ts";
import type { Stats } from "../../src/api/status_operations.ts";

const MINUTE = 60_000;
const FROM = Date.parse("2026-11-22T10:03:00Z");

/** Figures of ten minutes, from three minutes past the hour. */
const STATS: Stats = {
  from: "2026-11-22T10:03:00.000Z",
  step_secs: 60,
  counted_since: "2026-11-22T10:00:00.000Z",
  deliveries: {
    accepted: [9, 9, 1, 2, 3, 4, 5, 6, 0, 0],
    duplicate: [0, 0, 0, 0, 0, 0, 0, 1, 0, 0],
    skipped: [0, 0, 0, 0, 0, 0, 0, 2, 0, 0],
    filtered: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    handshake: [0, 0, 0, 0, 0, 0, 0, 4, 0, 0],
    rejected: [0, 0, 0, 0, 0, 0, 7, 0, 0, 0],
  },
  answer_ms: {
    p50: [1, 1, null, 2, 5, 3, null, null, null, null],
    p95: [1, 1, null, 4, 4, 4, null, null, null, null],
    p99: [1, 1, null, null, null, null, null, null, null, null],
  },
  start_ms: { p50: [], p95: [], p99: [] },
  queue: { pending: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], running: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0] },
};

const spanOf = (fold: number): Span => ({ name: "", minutes: 10, fold });
const valuesOf = ({ series }: ReturnType<typeof deliveryFigures>) =>
  Object.fromEntries(series.map(({ label, values }) => [label, values]));

Deno.test("minutes that are not folded stay as they are", () => {
  const figures = deliveryFigures(STATS, spanOf(1));
  deepEqual(figures.times, STATS.deliveries["accepted"]?.map((_, at) => FROM + at * MINUTE));
  equal(figures.stepMs, MINUTE);
  deepEqual(valuesOf(figures), {
    accepted: [9, 9, 1, 2, 3, 4, 5, 6, 0, 0],
    filtered: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    rejected: [0, 0, 0, 0, 0, 0, 7, 0, 0, 0],
    other: [0, 0, 0, 0, 0, 0, 0, 7, 0, 0],
  });
});

Deno.test("folded counts add up, at even times, without an interval that is not whole", () => {
  const figures = deliveryFigures(STATS, spanOf(5));
  deepEqual(figures.times, [FROM + 2 * MINUTE, FROM + 7 * MINUTE]);
  equal(figures.times.every((at) => at % (5 * MINUTE) === 0), true);
  deepEqual(valuesOf(figures), {
    accepted: [15, 6],
    filtered: [0, 0],
    rejected: [7, 0],
    other: [0, 7],
  });
});

Deno.test("folded percentiles and queues are the worst of their minutes", () => {
  deepEqual(valuesOf(latencyFigures(STATS, spanOf(5), "answer_ms")), {
    p50: [5, null],
    p95: [4, null],
    p99: [null, null],
  });
  const queue = queueFigures(STATS, spanOf(5));
  deepEqual(queue?.series.map(({ values }) => values), [[7, 10], [0, 0]]);
  const { queue: _, ...ofTrigger } = STATS;
  equal(queueFigures(ofTrigger, spanOf(5)), undefined);
});

Deno.test("a rare outcome has no part in the chart until it happens", () => {
  const quiet = { ...STATS, deliveries: { accepted: [0, 0], rejected: [0, 0] } };
  const figures = deliveryFigures(quiet, spanOf(1));
  deepEqual(figures.series.map(({ label }) => label), ["accepted", "filtered", "rejected"]);
  equal(isEmpty(figures), true);
  equal(isEmpty(latencyFigures(STATS, spanOf(1), "start_ms")), true);
  equal(isEmpty(latencyFigures(STATS, spanOf(1), "answer_ms")), false);
});

Deno.test("the table has the intervals in which there was something, the latest first", () => {
  deepEqual(filledIntervals(deliveryFigures(STATS, spanOf(5))), [
    { at: FROM + 7 * MINUTE, values: [6, 0, 0, 7] },
    { at: FROM + 2 * MINUTE, values: [15, 0, 7, 0] },
  ]);
});

Deno.test("a course has its parts whatever the span: sums of what is counted, else the highest", () => {
  deepEqual(trend([1, 2, 3, 4, 5, 6], 3, true), [3, 7, 11]);
  deepEqual(trend([1, 2, null, 4, 5, 6], 3, false), [2, 4, 6]);
  deepEqual(trend([null, null, 7], 2, false), [0, 7]);
  deepEqual(trend([], 2, true), [0, 0]);
  equal(trend(Array.from({ length: 1440 }, () => 1), 30, true).every((sum) => sum === 48), true);
});

Deno.test("a chart of few intervals is told from one that has a line", () => {
  equal(isSparse(latencyFigures(STATS, spanOf(1), "answer_ms")), true);
  const busy = { ...STATS, queue: { pending: Array.from({ length: 60 }, () => 1), running: [] } };
  const queue = queueFigures(busy, spanOf(1));
  equal(queue === undefined ? undefined : isSparse(queue), false);
});

Deno.test("no span asks for more than the daemon keeps, or shows more than a hundred values", () => {
  for (const { minutes, fold } of SPANS) equal(minutes <= 1440 && minutes / fold <= 100, true);
});
