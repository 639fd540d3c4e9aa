/**
 * The steps of a task over time: the start and the duration of each.
 *
 * @module
 */

import { shortDuration } from "../../../../src/base/duration.ts";
import { Chip } from "../../parts/chip.tsx";
import { now } from "../../parts/time.tsx";
import type { StepsView } from "./graph.tsx";
import { lengthOf, nameOf, type Step } from "./steps.ts";

/** The marks of the axis, as shares of its length. */
const MARKS = [0, 0.25, 0.5, 0.75, 1];

/** A row for each step, with its time as a bar. */
export function Gantt({ steps, picked, pick, from: started }: StepsView & {
  /** The start of the task; steps carried over from an earlier task ended before it. */
  readonly from: string | null;
}) {
  const [from, to] = spanOf(steps, { from: started, nowMs: now.value });
  const whole = Math.max(1, to - from);
  const share = (ms: number) => Math.max(0, Math.min(100, (ms - from) / whole * 100));
  return (
    <div class="gantt">
      <div class="axis" aria-hidden="true">
        {MARKS.map((share) => (
          <span key={share} style={`left:${share * 100}%`}>{onAxis(whole * share)}</span>
        ))}
      </div>
      <ol aria-label="Steps in order">
        {steps.map((step) => {
          const { id, state, record } = step;
          const [begun, ended] = timesOf(step, now.value);
          const left = share(begun ?? from);
          const width = share(ended ?? from) - left;
          const carried = ended !== undefined && ended < from;
          return (
            <li key={id}>
              <button
                type="button"
                class="step"
                aria-pressed={picked === id}
                aria-label={nameOf(step, now.value)}
                onClick={() => pick(id)}
              >
                <span class="id" title={id}>{id}</span> <Chip word={state} />{" "}
                <span class="faint time">{lengthOf(record, now.value)}</span>
                <span class="lane">
                  {begun !== undefined && !carried && (
                    <span class={`bar ${state}`} style={`left:${left}%;width:${width}%`} />
                  )}
                  {carried && <span class="faint">carried over</span>}
                </span>
              </button>
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** Short times to a tenth of a second, so that no two marks have the same text. */
function onAxis(ms: number): string {
  return ms < 1000 || ms >= 10_000 ? shortDuration(ms) : `${(ms / 1000).toFixed(1)}s`;
}

function timesOf({ record }: Step, nowMs: number): [begun?: number, ended?: number] {
  if (record === undefined || record.started_at === null) return [];
  const { started_at, finished_at } = record;
  return [Date.parse(started_at), finished_at === null ? nowMs : Date.parse(finished_at)];
}

/** From the start of the task to the last end of a step. */
function spanOf(
  steps: readonly Step[],
  { from, nowMs }: { readonly from: string | null; readonly nowMs: number },
): [from: number, to: number] {
  const start = from === null ? nowMs : Date.parse(from);
  const ends = steps.flatMap((step) => timesOf(step, nowMs)[1] ?? []);
  return [start, Math.max(start, ...ends)];
}
