/**
 * The time of a delivery, stage by stage: each bar begins at the end of the previous one.
 *
 * @module
 */

import type { Explanation } from "../../../../src/api/delivery_operations.ts";
import { type Column, Table } from "../../parts/table.tsx";

/** A stage: its start and its end, in milliseconds after the arrival. */
interface Span {
  readonly stage: string;
  readonly from: number;
  readonly to: number;
}

/** The stages as bars, or a sentence if there is only one. */
export function Stages({ stages, total }: {
  readonly stages: Explanation["stages"];
  /** Milliseconds until the answer. */
  readonly total: number;
}) {
  const [only, second] = stages;
  if (only === undefined) return <p class="faint">No stage is recorded.</p>;
  if (second === undefined) {
    return (
      <p>
        It got as far as <em>{only.stage}</em>, {milliseconds(only.after_ms)} after it arrived.
      </p>
    );
  }
  const spans = stages.map(({ stage, after_ms: to }, index): Span => ({
    stage,
    from: stages[index - 1]?.after_ms ?? 0,
    to,
  }));
  const whole = Math.max(total, ...spans.map(({ to }) => to), 0.001);
  const share = (ms: number) => 100 * Math.max(0, ms) / whole;
  const columns: readonly Column<Span>[] = [
    { header: "Stage", whole: true, cell: ({ stage }) => stage },
    {
      header: "Took",
      whole: true,
      number: true,
      cell: ({ from, to }) => milliseconds(to - from),
    },
    { header: "Done after", whole: true, number: true, cell: ({ to }) => milliseconds(to) },
    {
      header: "Timeline",
      cell: ({ from, to }) => (
        <span class="track" aria-hidden="true">
          <span class="bar" style={`margin-left:${share(from)}%;width:${share(to - from)}%`} />
        </span>
      ),
    },
  ];
  return <Table items={spans} columns={columns} id={({ stage }) => stage} look="stages" />;
}

function milliseconds(ms: number): string {
  if (ms < 0.05) return "< 0.1 ms";
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}
