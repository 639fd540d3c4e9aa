/**
 * A small chart of a figure over time, shown beside the figure. It is hidden from screen readers,
 * because the charts below have the same values with axes and as tables.
 *
 * @module
 */

import { trend } from "./figures.ts";

/** Number of bars of a sparkline, and the width of each with its gap. */
const BARS = 30;
const UNIT = 4;
const HEIGHT = 24;

/**
 * Draws the sum of each part of the values if `sums`, for counts of events; else the highest value.
 */
export function Sparkline({ values, sums }: {
  readonly values: readonly (number | null)[];
  readonly sums: boolean;
}) {
  const bars = trend(values, BARS, sums);
  const highest = Math.max(...bars, 0);
  const path = bars.map((value, at) => {
    // Any value above zero is visible.
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
