/**
 * The course of one figure, small enough to stand beside it. The charts below have the same with axes
 * and as tables, so it says nothing to a screen reader.
 *
 * @module
 */

import { trend } from "./figures.ts";

/** Bars of a sparkline, and the units that each takes, the gap with it. */
const BARS = 30;
const UNIT = 4;
const HEIGHT = 24;

/** The bars; `sums` where values are counts of events, else the highest of each part is drawn. */
export function Sparkline({ values, sums }: {
  readonly values: readonly (number | null)[];
  readonly sums: boolean;
}) {
  const bars = trend(values, BARS, sums);
  const highest = Math.max(...bars, 0);
  const path = bars.map((value, at) => {
    // What is not nothing is seen, however little it is.
    const height = value === 0 ? 0 : Math.max(2, value / highest * HEIGHT);
    return height === 0 ? "" : `M${at * UNIT} ${HEIGHT}v${-height}h${UNIT - 1}v${height}z`;
  }).join("");
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${BARS * UNIT} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="base" d={`M0 ${HEIGHT - 0.5}h${BARS * UNIT}`} />
      <path d={path} />
    </svg>
  );
}
