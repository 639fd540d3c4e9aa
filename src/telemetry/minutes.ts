/**
 * What happened minute by minute in the last day, for `svc stats`: deliveries, how long their
 * senders and their tasks waited, tasks that ended, and the queue. In memory only, and at the start
 * from what is stored (`earlier_minutes.ts`); of the triggers, the first ones by themselves.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { DELIVERY_OUTCOMES } from "../store/delivery_records.ts";
import type { TriggerKey } from "../store/retention_store.ts";
import { Latencies } from "./latencies.ts";
import { KEPT_MINUTES, MinuteSeries, type Percentiles, type Values } from "./minute_series.ts";

/** Most triggers whose figures are kept by themselves; those of others are in the sum only. */
export const MAX_TRIGGERS = 32;
const MINUTE_MS = 60_000;
/** Time between two looks at the queue. */
const SAMPLE_INTERVAL_MS = 20_000;

const ENDED = ["succeeded", "failed", "cancelled"] as const;

/** Which figures are read. */
export interface MinutesQuery {
  /** Number of minutes, the one that runs included. */
  readonly minutes: number;
  /** Only those of this trigger. */
  readonly trigger?: { readonly project: string; readonly name: string };
}

/** Figures of each minute; the last one still runs. */
export interface MinuteFigures {
  /** Start of the first minute, in milliseconds since the epoch. */
  readonly from: number;
  /** Since when there are figures; `undefined` for a trigger that has none of its own. */
  readonly since: number | undefined;
  /** Deliveries by outcome. */
  readonly deliveries: Readonly<Record<string, readonly number[]>>;
  /** Milliseconds from the arrival of a request until it is stored or refused. */
  readonly answerMs: Percentiles;
  /** Milliseconds from the arrival to the start of the task. */
  readonly startMs: Percentiles;
  /** Tasks that ended, by state; only of all triggers together. */
  readonly tasks?: Readonly<Record<string, readonly number[]>>;
  /** The longest queue seen; only of all triggers together. */
  readonly queue?: { readonly pending: Values; readonly running: Values };
}

/** How much waits and runs. */
export interface QueueSample {
  readonly pending: number;
  readonly running: number;
}

/** What happened in one minute before the start. */
export interface EarlierMinute {
  /** `tookMs` as where they are counted as they come. */
  readonly deliveries:
    readonly (TriggerKey & { readonly outcome: string; readonly tookMs?: number })[];
  /** Tasks that started, so long after their delivery arrived. */
  readonly starts: readonly (TriggerKey & { readonly tookMs: number })[];
  /** The states of tasks that ended. */
  readonly ends: readonly string[];
}

/** Counts by minute. */
export class Minutes implements Disposable {
  readonly #clock: Clock;
  readonly #all = new MinuteSeries();
  /** By project, then by name. */
  readonly #triggers = new Map<string, Map<string, MinuteSeries>>();
  readonly #timer: Disposable;
  #since: number;
  #known = 0;
  #minute: number;
  #sample: () => Promise<QueueSample> = () => Promise.reject(new Error("no queue"));

  /** Starts empty; has to be disposed. */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.now();
    this.#minute = this.#now();
    this.#timer = clock.every(SAMPLE_INTERVAL_MS, () => this.#look());
  }

  /** Counts a delivery; `tookMs` is the time until its sender can be answered, where there is one. */
  delivery(
    { project, trigger }: TriggerKey,
    outcome: string,
    tookMs: number | undefined,
  ): void {
    const minute = this.#now();
    this.#all.add(outcome, minute);
    const own = this.#of(project, trigger);
    own?.add(outcome, minute);
    if (tookMs === undefined) return;
    this.#all.took("answer", tookMs, minute);
    own?.took("answer", tookMs, minute);
  }

  /** Counts a task that starts, so long after its delivery arrived. */
  taskStart(
    { project, trigger }: TriggerKey,
    delayMs: number,
  ): void {
    const minute = this.#now();
    this.#all.took("start", delayMs, minute);
    this.#of(project, trigger)?.took("start", delayMs, minute);
  }

  /** Counts a task that has ended. */
  taskEnd(state: string): void {
    this.#all.add(state, this.#now());
  }

  /** Since when there are figures, in milliseconds since the epoch. */
  get since(): number {
    return this.#since;
  }

  /** Adds what happened in a minute before the start; of the latencies, only where there are none. */
  earlier(minute: number, { deliveries, starts, ends }: EarlierMinute): void {
    if (minute <= this.#now() - KEPT_MINUTES) return;
    for (const { project, trigger, outcome } of deliveries) {
      this.#all.addEarlier(outcome, minute);
      this.#of(project, trigger)?.addEarlier(outcome, minute);
    }
    for (const state of ends) this.#all.addEarlier(state, minute);
    this.#tookEarlier("answer", deliveries, minute);
    this.#tookEarlier("start", starts, minute);
  }

  /** Says that all is counted that happened since then. */
  countedFrom(since: number): void {
    this.#since = Math.min(this.#since, since);
  }

  /** From now on, looks at this queue some times a minute. */
  watchQueue(sample: () => Promise<QueueSample>): void {
    this.#sample = sample;
  }

  /** The figures of the last minutes. */
  read({ minutes, trigger }: MinutesQuery): MinuteFigures {
    const count = Math.min(minutes, KEPT_MINUTES);
    const from = this.#now() - count + 1;
    const own = trigger === undefined
      ? this.#all
      : this.#triggers.get(trigger.project)?.get(trigger.name);
    const isCounted = own !== undefined || this.#known < MAX_TRIGGERS;
    const series = own ?? new MinuteSeries();
    const sums = (names: readonly string[]) =>
      Object.fromEntries(names.map((name) => [name, series.sums(name, from, count)]));
    const figures = {
      from: from * MINUTE_MS,
      since: isCounted ? this.#since : undefined,
      deliveries: sums(DELIVERY_OUTCOMES),
      answerMs: series.percentiles("answer", from, count),
      startMs: series.percentiles("start", from, count),
    };
    if (trigger !== undefined) return figures;
    const [pending, running] = [
      series.levels("pending", from, count),
      series.levels("running", from, count),
    ];
    return { ...figures, tasks: sums(ENDED), queue: { pending, running } };
  }

  /** Stops looking at the queue. */
  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  #now(): number {
    return Math.floor(this.#clock.now() / MINUTE_MS);
  }

  /** The series of a trigger, if it has one or there is room for one more. */
  #of(project: string, trigger: string): MinuteSeries | undefined {
    let names = this.#triggers.get(project);
    const known = names?.get(trigger);
    if (known !== undefined) return known;
    if (this.#known >= MAX_TRIGGERS) return undefined;
    if (names === undefined) this.#triggers.set(project, names = new Map());
    const series = new MinuteSeries();
    names.set(trigger, series);
    this.#known++;
    return series;
  }

  #tookEarlier(
    name: string,
    things: readonly (TriggerKey & { readonly tookMs?: number })[],
    minute: number,
  ): void {
    const latencies = new Map<MinuteSeries, Latencies>();
    for (const { project, trigger, tookMs } of things) {
      if (tookMs === undefined) continue;
      for (const series of [this.#all, this.#of(project, trigger)]) {
        if (series === undefined) continue;
        const known = latencies.get(series) ?? new Latencies();
        known.add(tookMs);
        latencies.set(series, known);
      }
    }
    for (const [series, all] of latencies) series.tookEarlier(name, all, minute);
  }

  #look(): void {
    this.#sample().then(({ pending, running }) => {
      const minute = this.#now();
      this.#all.raise("pending", pending, minute);
      this.#all.raise("running", running, minute);
    }, () => {}); // what cannot be read has no value
    const minute = this.#now();
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.#forget(minute);
  }

  /** Forgets what is too old, and triggers of which nothing is left. */
  #forget(minute: number): void {
    this.#all.forget(minute);
    for (const [project, names] of this.#triggers) {
      for (const [name, series] of names) {
        series.forget(minute);
        if (!series.isEmpty) continue;
        names.delete(name);
        this.#known--;
      }
      if (names.size === 0) this.#triggers.delete(project);
    }
  }
}
