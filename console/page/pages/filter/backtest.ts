/**
 * The outcomes that another condition would have given the deliveries of a span, updated while it
 * is typed: a new condition stops the run of the previous one.
 *
 * @module
 */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { toRefusal } from "../../data/answer.ts";
import { type Refusal, stream } from "../../data/api.ts";
import type { BacktestedDelivery } from "../../../../src/api/trigger_operations.ts";

/** A trigger, the condition to try, and the span of deliveries. */
export interface Trial {
  readonly name: string;
  readonly project: string;
  /** The condition to try; the applied one if absent. */
  readonly filter?: string;
  readonly since_secs: number;
}

/** The progress of a run. */
export interface BacktestRun {
  readonly state: "none" | "waiting" | "running" | "done";
  /** Number of deliveries in the span. */
  readonly total: number;
  readonly examined: number;
  /** Number of deliveries by change: `accepted → filtered`, `unchanged accepted`. */
  readonly counts: Readonly<Record<string, number>>;
  /** The deliveries whose outcome changes, newest first; at most {@linkcode MOST_ROWS}. */
  readonly changed: readonly BacktestedDelivery[];
  readonly error: Refusal | undefined;
}

/** Most changed deliveries that are kept. */
export const MOST_ROWS = 2000;
/** Pause in typing after which a condition is tried. */
const STILL_MS = 350;
/** Interval of updating the screen during a run. */
const SHOW_MS = 120;

const NOTHING: BacktestRun = {
  state: "none",
  total: 0,
  examined: 0,
  counts: {},
  changed: [],
  error: undefined,
};

/**
 * Runs a trial, none if `undefined`. Another trial (by value) or another `again` starts a new run.
 */
export function useBacktest(trial: Trial | undefined, again: number): BacktestRun {
  const shown = useSignal(NOTHING);
  useEffect(() => {
    if (trial === undefined) {
      shown.value = NOTHING;
      return;
    }
    const own = new AbortController();
    shown.value = { ...shown.peek(), state: "waiting" };
    const timer = setTimeout(
      () => void run(trial, own.signal, (now) => shown.value = now),
      STILL_MS,
    );
    return () => {
      clearTimeout(timer);
      own.abort();
    };
  }, [JSON.stringify(trial), again]);
  return shown.value;
}

async function run(
  trial: Trial,
  signal: AbortSignal,
  show: (run: BacktestRun) => void,
): Promise<void> {
  let now: BacktestRun = { ...NOTHING, state: "running" };
  let changed: BacktestedDelivery[] = [];
  let shownAt = 0;
  try {
    for await (const line of stream("trigger.backtest", trial, signal)) {
      if (signal.aborted) return;
      if ("total" in line) now = { ...now, total: line.total };
      else if ("delivery_id" in line) {
        if (!line.unchanged && changed.length < MOST_ROWS) changed = [...changed, line];
      } else now = { ...now, examined: line.examined, counts: line.counts };
      if (performance.now() - shownAt < SHOW_MS) continue;
      shownAt = performance.now();
      show({ ...now, changed });
    }
    if (!signal.aborted) show({ ...now, changed, state: "done" });
  } catch (thrown) {
    if (!signal.aborted) show({ ...now, changed, state: "done", error: toRefusal(thrown) });
  }
}
