/**
 * How often things happened lately, for `svc status`: totals, and what they were some time ago.
 * What happens only adds one to a number.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";

/** How often something happened. */
export interface Rate {
  /** In the last minute. */
  readonly last_minute: number;
  /** In the last five minutes. */
  readonly last_five_minutes: number;
}

/** What is counted; each by what came of it. */
export type Sort = "deliveries" | "tasks";

type Totals = Readonly<Record<Sort, ReadonlyMap<string, number>>>;

/** Time between two looks at the totals. */
const POLL_INTERVAL_MS = 5000;
const LOOKS_A_MINUTE = 60_000 / POLL_INTERVAL_MS;

/** Totals, and what they were at each look of the last five minutes. */
export class Rates implements Disposable {
  readonly #totals = { deliveries: new Map<string, number>(), tasks: new Map<string, number>() };
  readonly #looks: Totals[] = [];
  readonly #timer: Disposable;

  /** Starts at nothing; has to be disposed. */
  constructor(clock: Clock) {
    this.#timer = clock.every(POLL_INTERVAL_MS, () => this.#look());
  }

  /** Something happened; `outcome` is one of a few. */
  add(sort: Sort, outcome: string): void {
    const totals = this.#totals[sort];
    totals.set(outcome, (totals.get(outcome) ?? 0) + 1);
  }

  /** Remembers how it stands; called every five seconds. */
  #look(): void {
    const { deliveries, tasks } = this.#totals;
    this.#looks.push({ deliveries: new Map(deliveries), tasks: new Map(tasks) });
    if (this.#looks.length > 5 * LOOKS_A_MINUTE) this.#looks.shift();
  }

  /** What happened lately, by outcome; only outcomes that ever came are there. */
  lately(): Record<Sort, Record<string, Rate>> {
    return { deliveries: this.#of("deliveries"), tasks: this.#of("tasks") };
  }

  /** Stops looking. */
  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  #of(sort: Sort): Record<string, Rate> {
    const totals = [...this.#totals[sort]].toSorted(([a], [b]) => a < b ? -1 : 1);
    const before = (outcome: string, minutes: number) =>
      this.#looks.at(-minutes * LOOKS_A_MINUTE)?.[sort].get(outcome) ?? 0;
    return Object.fromEntries(totals.map(([outcome, total]) => [outcome, {
      last_minute: total - before(outcome, 1),
      last_five_minutes: total - before(outcome, 5),
    }]));
  }
}
