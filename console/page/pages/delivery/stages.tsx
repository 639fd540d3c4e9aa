/**
 * How long a delivery took, stage by stage: each bar begins where the one before ends.
 *
 * @module
 */

import type { Explanation } from "../../../../src/api/delivery_operations.ts";

/** The stages. */
export function Stages({ stages, total }: {
  readonly stages: Explanation["stages"];
  /** Milliseconds until the answer. */
  readonly total: number;
}) {
  if (stages.length === 0) return <p class="faint">None is known.</p>;
  const ends = stages.map(({ after_ms }) => after_ms);
  const whole = Math.max(total, ...ends, 0.001);
  return (
    <div class="scroll-x">
      <table class="stages">
        <thead>
          <tr>
            <th scope="col">Stage</th>
            <th scope="col" class="number">Took</th>
            <th scope="col" class="number">Done after</th>
            <th scope="col" class="wide">
              <span class="hidden">When</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {stages.map(({ stage, after_ms }, index) => {
            const from = ends[index - 1] ?? 0;
            const [left, width] = [from, Math.max(0, after_ms - from)].map((ms) =>
              100 * ms / whole
            );
            return (
              <tr key={stage}>
                <td>{stage}</td>
                <td class="number">{milliseconds(after_ms - from)}</td>
                <td class="number">{milliseconds(after_ms)}</td>
                <td class="wide" aria-hidden="true">
                  <span class="track">
                    <span class="bar" style={`margin-left:${left}%;width:${width}%`} />
                  </span>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function milliseconds(ms: number): string {
  return `${ms < 10 ? Math.max(0, ms).toFixed(1) : Math.round(ms)} ms`;
}
