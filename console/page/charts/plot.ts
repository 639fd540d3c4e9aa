/**
 * Draws figures. This module is loaded with the first chart. Screen readers cannot read a canvas,
 * so there is a table under each chart.
 *
 * @module
 */

import uPlot from "uplot";
import { shortDuration } from "../../../src/base/duration.ts";
import type { Figures } from "./figures.ts";

/** The look of a chart. */
export interface Look {
  /**
   * `bars` are stacked, `columns` overlap, `lines` connect the values, `levels` are steps that hold
   * until the next value.
   */
  readonly form: "bars" | "columns" | "lines" | "levels";
  /** The colour of each series, in the order of the series. */
  readonly colours: readonly string[];
  /** The colour of texts. */
  readonly text: string;
  readonly grid: string;
  readonly font: string;
}

/** A drawn chart, which can be updated, resized and removed. */
export interface Drawn {
  readonly update: (figures: Figures) => void;
  readonly resize: (width: number) => void;
  readonly remove: () => void;
}

const HEIGHT = 170;
/** The least value of a logarithmic scale, which has no zero. */
const SHORTEST_MS = 0.1;
/** Space between a point and the edge of a logarithmic scale, in powers of ten. */
const MARGIN = 0.05;
/** Line patterns, which tell series apart without colours. */
const DASHES: readonly (readonly number[])[] = [[], [6, 3], [2, 2]];
const COUNT_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6];
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

/** Draws figures into an element; `point` is called with the interval under the pointer. */
export function draw(
  place: HTMLElement,
  { figures, look, point }: {
    readonly figures: Figures;
    readonly look: Look;
    readonly point: (index: number | undefined) => void;
  },
): Drawn {
  const { form } = look;
  const isFilled = form === "bars" || form === "columns";
  let shown = figures;
  const axis = {
    stroke: look.text,
    font: look.font,
    grid: { stroke: look.grid, width: 1 },
    ticks: { stroke: look.grid, width: 1, size: 4 },
  };
  const series = figures.series.map(({ label }, at): uPlot.Series => {
    const stroke = look.colours[at] ?? look.text;
    const path = pathOf(form);
    return Object.assign(
      { label, stroke, width: isFilled ? 0 : 1.5, dash: [...DASHES[at] ?? []] },
      path === undefined ? {} : { paths: path },
      isFilled ? { fill: stroke, dash: [] } : {},
      { points: { show: form === "lines", size: 4, fill: stroke } },
    );
  });
  const chart = new uPlot(
    {
      width: Math.max(1, place.clientWidth),
      height: HEIGHT,
      ms: 1,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: {
          time: true,
          range: () => {
            const first = shown.times[0] ?? 0;
            return [first, Math.max(first + 1, (shown.times.at(-1) ?? 0) + shown.stepMs)];
          },
        },
        y: figures.unit === "ms" ? { distr: 3, range: decades } : {
          range: (_, _min, max) => [0, Math.max(max * 1.08, 4)],
        },
      },
      axes: [
        Object.assign({
          values: (_: uPlot, at: number[]) => at.map((one) => CLOCK.format(one)),
          space: 60,
          size: 26,
        }, axis),
        Object.assign(
          { values: (_: uPlot, at: number[]) => at.map(figures.unit === "ms" ? time : String) },
          { size: 50, space: 34 },
          figures.unit === "count" ? { incrs: COUNT_STEPS } : { splits: tens, filter: all },
          axis,
        ),
      ],
      // The sum of the stack is drawn first, and the lower parts are drawn over it.
      series: [{}, ...(isFilled ? series.toReversed() : series)],
      hooks: { setCursor: [({ cursor }) => point(cursor.idx ?? undefined)] },
    },
    dataOf(figures, form),
    place,
  );
  return {
    update(next) {
      shown = next;
      chart.setData(dataOf(next, form));
    },
    resize: (width) => chart.setSize({ width, height: HEIGHT }),
    remove: () => chart.destroy(),
  };
}

function pathOf(form: Look["form"]): uPlot.Series.PathBuilder | undefined {
  if (form === "bars" || form === "columns") {
    return uPlot.paths.bars?.({ size: [0.8, 24], align: 1 });
  }
  if (form === "levels") return uPlot.paths.stepped?.({ align: 1 });
  return undefined;
}

function dataOf({ times, series, unit }: Figures, form: Look["form"]): uPlot.AlignedData {
  const values = series.map((one) =>
    one.values.map((value) =>
      unit === "ms" && value !== null ? Math.max(value, SHORTEST_MS) : value
    )
  );
  if (form === "columns") return [[...times], ...values.toReversed()];
  if (form !== "bars") return [[...times], ...values];
  let below = times.map(() => 0);
  const stacked = values.map((one) => below = below.map((base, at) => base + (one[at] ?? 0)));
  return [[...times], ...stacked.toReversed()];
}

/** The scale of times is logarithmic, because they differ by orders of magnitude. */
function decades(_: uPlot, min: number | null, max: number | null): [number, number] {
  const low = Math.floor(Math.log10(Math.max(min ?? 1, SHORTEST_MS)) - MARGIN);
  const high = Math.ceil(Math.log10(Math.max(max ?? 1, SHORTEST_MS)) + MARGIN);
  return [10 ** low, 10 ** Math.max(high, low + 2)];
}

function tens({ scales }: uPlot): number[] {
  const { min = 1, max = 100 } = scales["y"] ?? {};
  const [low, high] = [Math.round(Math.log10(min ?? 1)), Math.round(Math.log10(max ?? 100))];
  return Array.from({ length: high - low + 1 }, (_, at) => 10 ** (low + at));
}

function all(_: uPlot, splits: readonly number[]): number[] {
  return [...splits];
}

function time(ms: number): string {
  return ms < 1 ? `${ms}ms` : shortDuration(ms);
}
