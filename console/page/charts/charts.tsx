/**
 * The charts of all triggers or of a single one, over a span that is chosen and kept in the
 * address.
 *
 * @module
 */

import { useRef } from "preact/hooks";
import type { Stats } from "../../../src/api/status_operations.ts";
import { shortDuration } from "../../../src/base/duration.ts";
import { useLatest } from "../data/live.ts";
import type { Refusal } from "../data/api.ts";
import { Command } from "../parts/command.tsx";
import { Problem } from "../parts/problem.tsx";
import { Clock } from "../parts/time.tsx";
import { query, setQuery } from "../route.ts";
import { Chart } from "./chart.tsx";
import { deliveryFigures, latencyFigures, queueFigures, type Span, SPANS } from "./figures.ts";

/** The trigger whose figures are shown; all triggers if absent. */
type Of = { readonly project: string; readonly trigger: string } | undefined;

/** The figures for the span in the address. */
export interface SpanFigures {
  readonly span: Span;
  /** The figures with their span; absent until the first answer. */
  readonly shown: { readonly stats: Stats; readonly span: Span } | undefined;
  readonly error: Refusal | undefined;
}

/** Keeps the figures up to date while the component is shown. */
export function useFigures(of?: Of): SpanFigures {
  const span = SPANS.find(({ name }) => name === query.value.get("span")) ?? FIRST;
  const { value, error } = useLatest(
    { stats: { minutes: span.minutes, ...of } },
    (update) => "stats" in update ? update.stats : undefined,
  );
  // The figures of the previous span stay until those of the new one arrive.
  const shown = useRef<{ readonly stats: Stats; readonly span: Span } | undefined>(undefined);
  if (value?.deliveries["accepted"]?.length === span.minutes) {
    shown.current = { stats: value, span };
  }
  return { span, shown: shown.current, error };
}

/** The charts of deliveries, times and tasks over the chosen span. */
export function Charts({ of, figures: { span, shown, error } }: {
  readonly of?: Of;
  readonly figures: SpanFigures;
}) {
  const which = of === undefined
    ? ""
    : ` --trigger ${of.trigger}${of.project === "default" ? "" : ` -p ${of.project}`}`;
  return (
    <section class="charts" aria-label="Charts">
      <div class="title">
        <h2>The last {span.name}</h2>
        <div class="choice" role="group" aria-label="Time range of the charts">
          {SPANS.map(({ name }) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === span.name}
              onClick={() => setQuery({ span: name === FIRST.name ? "" : name })}
            >
              {name}
            </button>
          ))}
        </div>
        {shown !== undefined && <Since stats={shown.stats} />}
      </div>
      {error !== undefined && <Problem error={error} />}
      {shown !== undefined && <SpanCharts {...shown} />}
      <Command line={`svc stats --minutes ${span.minutes}${which}`} />
    </section>
  );
}

const FIRST: Span = SPANS[0] as Span;

function SpanCharts({ stats, span }: { readonly stats: Stats; readonly span: Span }) {
  const each = span.fold === 1 ? "each minute" : `each ${shortDuration(span.fold * 60_000)}`;
  const worst = span.fold === 1 ? each : `worst of ${each}`;
  const queue = queueFigures(stats, span);
  const within = `in the last ${span.name}`;
  return (
    <div class={queue === undefined ? "columns three" : "columns"}>
      <Chart
        title="Deliveries"
        note={each}
        form="bars"
        nothing={`Nothing arrived ${within}.`}
        figures={deliveryFigures(stats, span)}
      />
      {queue !== undefined && (
        <Chart
          title="Tasks"
          note="peak"
          form="levels"
          nothing={`No sample found a waiting or running task ${within}.`}
          figures={queue}
        />
      )}
      <Chart
        title="Response time"
        nothing={`No request was answered ${within}.`}
        note={worst}
        form="lines"
        figures={latencyFigures(stats, span, "answer_ms")}
      />
      <Chart
        title="Time to first step"
        nothing={`No task started ${within}.`}
        note={worst}
        form="lines"
        figures={latencyFigures(stats, span, "start_ms")}
      />
    </div>
  );
}

/** Says since when the daemon has counted, if that is later than the start of the charts. */
function Since({ stats: { counted_since, from } }: { readonly stats: Stats }) {
  if (counted_since === null) {
    return <span class="faint">There are too many triggers to count this one separately.</span>;
  }
  if (Date.parse(counted_since) <= Date.parse(from)) return null;
  return (
    <span class="faint">
      counted since <Clock at={counted_since} />
    </span>
  );
}
