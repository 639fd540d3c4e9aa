/**
 * Recent rates for `svc status`, from totals and their values some time ago. Recording an event
 * only adds one to a number.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";

/** How often something happened. */
export interface Rate {
  readonly last_minute: number;
  readonly last_five_minutes: number;
}

/** What is counted, each by its outcome. */
export type RateKind = "deliveries" | "tasks";

type Totals = Readonly<Record<RateKind, ReadonlyMap<string, number>>>;

/** Time between two samples of the totals. */
const SAMPLE_INTERVAL_MS = 5000;
const SAMPLES_PER_MINUTE = 60_000 / SAMPLE_INTERVAL_MS;

/** Totals, and their samples of the last five minutes. */
export class Rates implements Disposable {
  readonly #totals = { deliveries: new Map<string, number>(), tasks: new Map<string, number>() };
  readonly #samples: Totals[] = [];
  readonly #timer: Disposable;

  /** Starts to sample; has to be disposed. */
  constructor(clock: Clock) {
    this.#timer = clock.every(SAMPLE_INTERVAL_MS, () => this.#sample());
  }

  /** Counts an event; there must be only few different outcomes. */
  add(kind: RateKind, outcome: string): void {
    const totals = this.#totals[kind];
    totals.set(outcome, (totals.get(outcome) ?? 0) + 1);
  }

  /** Stores a sample of the totals. */
  #sample(): void {
    const { deliveries, tasks } = this.#totals;
    this.#samples.push({ deliveries: new Map(deliveries), tasks: new Map(tasks) });
    if (this.#samples.length > 5 * SAMPLES_PER_MINUTE) this.#samples.shift();
  }

  /** Recent rates by outcome; only outcomes that ever occurred are present. */
  lately(): Record<RateKind, Record<string, Rate>> {
    return { deliveries: this.#of("deliveries"), tasks: this.#of("tasks") };
  }

  /** Stops sampling. */
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
