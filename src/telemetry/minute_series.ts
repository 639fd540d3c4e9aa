/**
 * Figures of one trigger, or of all triggers, minute by minute for a day. They are kept in blocks of
 * four hours, so that hours in which nothing happened take no memory.
 *
 * @module
 */

/** Minutes that are kept, with the present one. */
export const KEPT_MINUTES = 24 * 60;
/** Minutes of a block. */
const BLOCK_MINUTES = 4 * 60;

const PERCENTILE_PARTS = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;
type Percentile = keyof typeof PERCENTILE_PARTS;
const PERCENTILES = Object.keys(PERCENTILE_PARTS) as Percentile[];

/** A value for each minute, `null` where there is none. */
export type Values = readonly (number | null)[];
/** Percentiles for each minute. */
export type Percentiles = Readonly<Record<Percentile, Values>>;

/** For each name, a number for each minute of the block; NaN where there is none. */
type Block = Map<string, Float32Array>;

/** Sums, levels and latencies by minute, each under a name of a closed list. */
export class MinuteSeries {
  /** By the number of blocks since the epoch. */
  readonly #blocks = new Map<number, Block>();
  /** Of the present minute. */
  readonly #latencies = new Map<string, Latencies>();
  #minute = -1;

  get isEmpty(): boolean {
    return this.#blocks.size === 0;
  }

  /** Adds one to a sum. */
  add(name: string, minute: number): void {
    this.#begin(minute);
    this.addEarlier(name, minute);
  }

  /** Keeps the highest level of a minute. */
  raise(name: string, value: number, minute: number): void {
    this.#begin(minute);
    const [column, at] = this.#place(name, minute);
    const before = column[at] ?? NaN;
    if (!(before >= value)) column[at] = value;
  }

  took(name: string, ms: number, minute: number): void {
    this.#begin(minute);
    let latencies = this.#latencies.get(name);
    if (latencies === undefined) this.#latencies.set(name, latencies = new Latencies());
    latencies.add(ms);
  }

  /** Adds one to a sum of a past minute. */
  addEarlier(name: string, minute: number): void {
    const [column, at] = this.#place(name, minute);
    column[at] = (column[at] || 0) + 1;
  }

  /** Keeps the percentiles of a past minute, unless it has some; `ms` are all its latencies. */
  tookEarlier(name: string, ms: readonly number[], minute: number): void {
    if (ms.length === 0) return; // a minute in which nothing happened takes no memory
    const latencies = new Latencies();
    for (const one of ms) latencies.add(one);
    for (const one of PERCENTILES) {
      const value = latencies.percentile(PERCENTILE_PARTS[one]);
      const [column, at] = this.#place(`${name} ${one}`, minute);
      if (value !== undefined && Number.isNaN(column[at])) column[at] = value;
    }
  }

  /** The sums of `count` minutes; 0 where nothing was added. */
  sums(name: string, from: number, count: number): readonly number[] {
    return this.#read(name, from, count).map((value) => value ?? 0);
  }

  levels(name: string, from: number, count: number): Values {
    return this.#read(name, from, count);
  }

  percentiles(name: string, from: number, count: number): Percentiles {
    this.#note();
    const [p50, p95, p99] = PERCENTILES.map((one) => this.#read(`${name} ${one}`, from, count));
    return { p50: p50 ?? [], p95: p95 ?? [], p99: p99 ?? [] };
  }

  /** Forgets figures that are too old at `minute`. */
  forget(minute: number): void {
    const oldest = blockOf(minute - KEPT_MINUTES + 1);
    for (const number of this.#blocks.keys()) if (number < oldest) this.#blocks.delete(number);
  }

  /** Ends the minute before, if `minute` is a new one. */
  #begin(minute: number): void {
    if (minute === this.#minute) return;
    this.#note();
    for (const latencies of this.#latencies.values()) latencies.clear();
    this.#minute = minute;
  }

  /** Keeps the percentiles of the present minute, as they are so far. */
  #note(): void {
    for (const [name, latencies] of this.#latencies) {
      for (const one of PERCENTILES) {
        const value = latencies.percentile(PERCENTILE_PARTS[one]);
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

/** Latencies below it, in milliseconds, are counted one by one; above, by {@linkcode PARTS} of a doubling. */
const EXACT = 32;
const PARTS = 16;
/** From 32 ms to 72 minutes; a longer latency counts as 72 minutes. */
const DOUBLINGS = 17;
const COUNTS = EXACT + PARTS * DOUBLINGS;

/**
 * Latencies of one minute. Adding one is an addition to a counter; a percentile is at most a
 * sixteenth too high.
 */
export class Latencies {
  readonly #counts = new Uint32Array(COUNTS);
  #total = 0;

  add(ms: number): void {
    const at = indexOf(Math.max(0, Math.round(ms)));
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#total++;
  }

  /**
   * The lowest latency that `part` of all latencies, from 0 to 1, do not exceed; `undefined` if there
   * is none.
   */
  percentile(part: number): number | undefined {
    if (this.#total === 0) return undefined;
    let left = Math.ceil(this.#total * part);
    let at = 0;
    for (; at < COUNTS - 1; at++) {
      left -= this.#counts[at] ?? 0;
      if (left <= 0) break;
    }
    return longestAt(at);
  }

  clear(): void {
    if (this.#total === 0) return;
    this.#counts.fill(0);
    this.#total = 0;
  }
}

function indexOf(ms: number): number {
  if (ms < EXACT) return ms;
  const doubling = Math.floor(Math.log2(ms / EXACT));
  const part = Math.floor((ms / (EXACT * 2 ** doubling) - 1) * PARTS);
  return Math.min(COUNTS - 1, EXACT + doubling * PARTS + part);
}

/** The longest latency that is counted at `index`. */
function longestAt(index: number): number {
  if (index < EXACT) return index;
  const doubling = Math.floor((index - EXACT) / PARTS);
  const part = (index - EXACT) % PARTS;
  return EXACT * 2 ** doubling * (1 + (part + 1) / PARTS) - 1;
}
