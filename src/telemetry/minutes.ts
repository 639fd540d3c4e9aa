/**
 * The figures of `svc stats`, minute by minute for the last day: deliveries, how long their senders
 * and their tasks waited, tasks that ended, and the queue. They are kept in memory;
 * `earlier_minutes.ts` counts what happened before the start from the store.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { DELIVERY_OUTCOMES } from "../store/delivery_records.ts";
import type { TriggerKey } from "../store/retention_store.ts";
import { KEPT_MINUTES, MinuteSeries, type Percentiles, type Values } from "./minute_series.ts";

/** Most triggers that have figures of their own; the others count in the sum only. */
export const MAX_TRIGGERS = 32;
const MINUTE_MS = 60_000;
/** Time between two samples of the queue. */
const SAMPLE_INTERVAL_MS = 20_000;

const ENDED = ["succeeded", "failed", "cancelled"] as const;

/** The minutes and the trigger of which figures are read. */
export interface MinutesQuery {
  /** Number of minutes, with the present one. */
  readonly minutes: number;
  /** Only figures of this trigger; of all triggers if absent. */
  readonly trigger?: { readonly project: string; readonly name: string };
}

/** Figures of each minute; the last one is the present minute. */
export interface MinuteFigures {
  /** Start of the first minute, in milliseconds since the epoch. */
  readonly from: number;
  /** Start of the figures, in milliseconds since the epoch; `undefined` for a trigger without any. */
  readonly since: number | undefined;
  readonly deliveries: Readonly<Record<string, readonly number[]>>;
  /** Milliseconds from the arrival of a request until it is stored or refused. */
  readonly answerMs: Percentiles;
  /** Milliseconds from the arrival to the start of the task. */
  readonly startMs: Percentiles;
  /** Tasks that ended, by state; absent for one trigger. */
  readonly tasks?: Readonly<Record<string, readonly number[]>>;
  /** The longest queue of each minute, as sampled; absent for one trigger. */
  readonly queue?: { readonly pending: Values; readonly running: Values };
}

/** The numbers of tasks at one time. */
export interface QueueSample {
  readonly pending: number;
  readonly running: number;
}

/** The events of one minute before the start. */
export interface EarlierMinute {
  /** `tookMs` is absent where no sender waited. */
  readonly deliveries:
    readonly (TriggerKey & { readonly outcome: string; readonly tookMs?: number })[];
  /** Tasks that started, `tookMs` after their delivery arrived. */
  readonly starts: readonly (TriggerKey & { readonly tookMs: number })[];
  /** The states of tasks that ended. */
  readonly ends: readonly string[];
}

/** Counts events by minute, for all triggers and for each. */
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
    this.#timer = clock.every(SAMPLE_INTERVAL_MS, () => this.#tick());
  }

  /** Counts a delivery; `tookMs` is the time until its sender can be answered, if one waits. */
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

  /** Counts a task that starts `delayMs` after its delivery arrived. */
  taskStart(
    { project, trigger }: TriggerKey,
    delayMs: number,
  ): void {
    const minute = this.#now();
    this.#all.took("start", delayMs, minute);
    this.#of(project, trigger)?.took("start", delayMs, minute);
  }

  taskEnd(state: string): void {
    this.#all.add(state, this.#now());
  }

  /** Start of the figures, in milliseconds since the epoch. */
  get since(): number {
    return this.#since;
  }

  /** Adds the events of a minute before the start; their latencies only if the minute has none. */
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

  /** Sets an earlier start of the figures: everything since then is counted. */
  countedFrom(since: number): void {
    this.#since = Math.min(this.#since, since);
  }

  /** From now on, samples this queue three times a minute. */
  watchQueue(sample: () => Promise<QueueSample>): void {
    this.#sample = sample;
  }

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
    const queue = {
      pending: series.levels("pending", from, count),
      running: series.levels("running", from, count),
    };
    return { ...figures, tasks: sums(ENDED), queue };
  }

  /** Stops sampling the queue. */
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
    const timed = things.flatMap(({ project, trigger, tookMs }) =>
      tookMs === undefined ? [] : [{ tookMs, series: this.#of(project, trigger) }]
    );
    this.#all.tookEarlier(name, timed.map(({ tookMs }) => tookMs), minute);
    for (const [series, ofSeries] of Map.groupBy(timed, (one) => one.series)) {
      series?.tookEarlier(name, ofSeries.map(({ tookMs }) => tookMs), minute);
    }
  }

  #tick(): void {
    this.#sample().then(({ pending, running }) => {
      const minute = this.#now();
      this.#all.raise("pending", pending, minute);
      this.#all.raise("running", running, minute);
    }, () => {}); // a queue that cannot be read has no value
    const minute = this.#now();
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.#forget(minute);
  }

  /** Forgets figures that are too old, and triggers without figures. */
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
