/**
 * Recent rates for `svc status`: the totals now, less the totals some time ago. To count an event is
 * one addition.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";

/** The numbers of events in the last minute and the last five. */
export interface Rate {
  readonly last_minute: number;
  readonly last_five_minutes: number;
}

/** The counted events; each kind is counted by its outcome. */
export type RateKind = "deliveries" | "tasks";

type Totals = Readonly<Record<RateKind, ReadonlyMap<string, number>>>;

const SAMPLE_INTERVAL_MS = 5000;
const SAMPLES_PER_MINUTE = 60_000 / SAMPLE_INTERVAL_MS;

/** Totals, and their samples of the last five minutes. */
export class Rates implements Disposable {
  readonly #totals = { deliveries: new Map<string, number>(), tasks: new Map<string, number>() };
  readonly #samples: Totals[] = [];
  readonly #timer: Disposable;

  /** Samples until it is disposed. */
  constructor(clock: Clock) {
    this.#timer = clock.every(SAMPLE_INTERVAL_MS, () => this.#sample());
  }

  /** Counts an event; `outcome` is from a closed list. */
  add(kind: RateKind, outcome: string): void {
    const totals = this.#totals[kind];
    totals.set(outcome, (totals.get(outcome) ?? 0) + 1);
  }

  #sample(): void {
    const { deliveries, tasks } = this.#totals;
    this.#samples.push({ deliveries: new Map(deliveries), tasks: new Map(tasks) });
    if (this.#samples.length > 5 * SAMPLES_PER_MINUTE) this.#samples.shift();
  }

  /** Recent rates by outcome; an outcome that has not occurred is absent. */
  lately(): Record<RateKind, Record<string, Rate>> {
    return { deliveries: this.#of("deliveries"), tasks: this.#of("tasks") };
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  #of(kind: RateKind): Record<string, Rate> {
    const totals = [...this.#totals[kind]].toSorted(([a], [b]) => a < b ? -1 : 1);
    const before = (outcome: string, minutes: number) =>
      this.#samples.at(-minutes * SAMPLES_PER_MINUTE)?.[kind].get(outcome) ?? 0;
    return Object.fromEntries(totals.map(([outcome, total]) => [outcome, {
      last_minute: total - before(outcome, 1),
      last_five_minutes: total - before(outcome, 5),
    }]));
  }
}
