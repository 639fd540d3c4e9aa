/**
 * Figures of one trigger, or of all, minute by minute for a day. Hours in which nothing happened
 * take no room, four at a time.
 *
 * @module
 */

import { Latencies } from "./latencies.ts";

/** Minutes that are kept, the one that runs included. */
export const KEPT_MINUTES = 24 * 60;
/** Minutes that are made room for at once. */
const BLOCK_MINUTES = 4 * 60;

/** The percentiles that are kept of each minute. */
const PARTS = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;
/** Name of a percentile. */
export type Percentile = keyof typeof PARTS;
const PERCENTILES = Object.keys(PARTS) as Percentile[];

/** A value for each minute, `null` where there is none. */
export type Values = readonly (number | null)[];
/** Percentiles for each minute. */
export type Percentiles = Readonly<Record<Percentile, Values>>;

/** Columns of a block: a number for each of its minutes. */
type Block = Map<string, Float32Array>;

/** Sums, levels and latencies by minute, each under a name of a closed list. */
export class MinuteSeries {
  /** By their number since the epoch. */
  readonly #blocks = new Map<number, Block>();
  /** Of the minute that runs. */
  readonly #latencies = new Map<string, Latencies>();
  #minute = -1;

  /** Whether nothing is kept of it. */
  get isEmpty(): boolean {
    return this.#blocks.size === 0;
  }

  /** Adds one to a sum. */
  add(name: string, minute: number): void {
    this.#begin(minute);
    this.addEarlier(name, minute);
  }

  /** Raises a level to `value`, where it was not as high in this minute. */
  raise(name: string, value: number, minute: number): void {
    this.#begin(minute);
    const [column, at] = this.#place(name, minute);
    const before = column[at] ?? NaN;
    if (!(before >= value)) column[at] = value;
  }

  /** Takes a latency in milliseconds. */
  took(name: string, ms: number, minute: number): void {
    this.#begin(minute);
    let latencies = this.#latencies.get(name);
    if (latencies === undefined) this.#latencies.set(name, latencies = new Latencies());
    latencies.add(ms);
  }

  /** Adds one to a sum of a minute that is over. */
  addEarlier(name: string, minute: number): void {
    const [column, at] = this.#place(name, minute);
    column[at] = (column[at] || 0) + 1;
  }

  /** Keeps the percentiles of all latencies of a minute, where there are none. */
  tookEarlier(name: string, latencies: Latencies, minute: number): void {
    for (const one of PERCENTILES) {
      const value = latencies.percentile(PARTS[one]);
      const [column, at] = this.#place(`${name} ${one}`, minute);
      if (value !== undefined && Number.isNaN(column[at])) column[at] = value;
    }
  }

  /** The sums from a minute on; 0 where nothing was added. */
  sums(name: string, from: number, count: number): readonly number[] {
    return this.#read(name, from, count).map((value) => value ?? 0);
  }

  /** The levels from a minute on. */
  levels(name: string, from: number, count: number): Values {
    return this.#read(name, from, count);
  }

  /** The percentiles of latencies from a minute on. */
  percentiles(name: string, from: number, count: number): Percentiles {
    this.#note();
    const [p50, p95, p99] = PERCENTILES.map((one) => this.#read(`${name} ${one}`, from, count));
    return { p50: p50 ?? [], p95: p95 ?? [], p99: p99 ?? [] };
  }

  /** Forgets what is too old at this minute. */
  forget(minute: number): void {
    const oldest = blockOf(minute - KEPT_MINUTES + 1);
    for (const number of this.#blocks.keys()) if (number < oldest) this.#blocks.delete(number);
  }

  /** Ends the minute before, when this is another one. */
  #begin(minute: number): void {
    if (minute === this.#minute) return;
    this.#note();
    for (const latencies of this.#latencies.values()) latencies.clear();
    this.#minute = minute;
  }

  /** Keeps the percentiles of the minute that runs, as they are so far. */
  #note(): void {
    for (const [name, latencies] of this.#latencies) {
      for (const one of PERCENTILES) {
        const value = latencies.percentile(PARTS[one]);
        if (value === undefined) continue;
        const [column, at] = this.#place(`${name} ${one}`, this.#minute);
        column[at] = value;
      }
    }
  }

  #place(name: string, minute: number): [column: Float32Array, at: number] {
    const number = blockOf(minute);
    let block = this.#blocks.get(number);
    if (block === undefined) this.#blocks.set(number, block = new Map());
    let column = block.get(name);
    if (column === undefined) {
      block.set(name, column = new Float32Array(BLOCK_MINUTES).fill(NaN));
    }
    return [column, minute - number * BLOCK_MINUTES];
  }

  #read(name: string, from: number, count: number): (number | null)[] {
    return Array.from({ length: count }, (_, index) => {
      const minute = from + index;
      const number = blockOf(minute);
      const value = this.#blocks.get(number)?.get(name)?.[minute - number * BLOCK_MINUTES] ?? NaN;
      return Number.isNaN(value) ? null : value;
    });
  }
}

function blockOf(minute: number): number {
  return Math.floor(minute / BLOCK_MINUTES);
}
