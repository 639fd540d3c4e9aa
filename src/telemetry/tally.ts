/**
 * Counting and timing that cost next to nothing: a request is counted in some 50 ns, where the
 * library's own counters and histograms take ten times that, because they check and hash the labels
 * each time. What they hold becomes labels and values only when somebody asks.
 *
 * @module
 */

/** One value of a metric; `suffix` is what its name has beside that of the metric. */
export interface Sample {
  /** Labels by name. */
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** `_bucket`, `_sum` or `_count`, of a histogram. */
  readonly suffix?: string;
}

/** Counts by labels: a tree of names with numbers at its ends. */
export class Tally {
  readonly #labels: readonly string[];
  readonly #root = new Map<string, unknown>();
  #ends = 0;

  /** Counts by labels of these names, in this order. */
  constructor(...labels: readonly [string, ...string[]]) {
    this.#labels = labels;
  }

  /** How many combinations of labels there are. */
  get size(): number {
    return this.#ends;
  }

  /** Adds one; takes a value for each label. */
  add(...values: readonly string[]): void {
    let at = this.#root;
    const last = values.length - 1;
    for (let i = 0; i < last; i++) {
      const value = values[i] ?? "";
      let next = at.get(value) as Map<string, unknown> | undefined;
      if (next === undefined) at.set(value, next = new Map());
      at = next;
    }
    const end = values[last] ?? "";
    const count = at.get(end) as number | undefined;
    if (count === undefined) this.#ends++;
    at.set(end, (count ?? 0) + 1);
  }

  /** Whether there is a count that begins with these values. */
  has(...values: readonly string[]): boolean {
    let at: unknown = this.#root;
    for (const value of values) at = at instanceof Map ? at.get(value) : undefined;
    return at !== undefined;
  }

  /** Every count. */
  samples(): Sample[] {
    return walk(this.#root, []).map(({ path, end }) => ({
      labels: this.#named(path),
      value: end as number,
    }));
  }

  /** Forgets the counts whose labels `keep` does not keep. */
  prune(keep: (labels: Readonly<Record<string, string>>) => boolean): void {
    for (const { path } of walk(this.#root, [])) {
      if (keep(this.#named(path))) continue;
      let at: Map<string, unknown> | undefined = this.#root;
      for (const value of path.slice(0, -1)) at = at?.get(value) as Map<string, unknown>;
      if (at?.delete(path.at(-1) ?? "") === true) this.#ends--;
    }
  }

  #named(path: readonly string[]): Record<string, string> {
    return Object.fromEntries(this.#labels.map((label, i) => [label, path[i] ?? ""]));
  }
}

/** The ends of a tree of maps. */
function walk(
  at: ReadonlyMap<string, unknown>,
  path: readonly string[],
): { path: readonly string[]; end: unknown }[] {
  return [...at].flatMap(([key, value]) =>
    value instanceof Map ? walk(value, [...path, key]) : [{ path: [...path, key], end: value }]
  );
}

/** A histogram: how many of what was measured were at most so large. */
export class Spread {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  /** With these upper bounds, the smallest first. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  /** Adds one value. */
  add(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? 0)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }

  /** Its buckets, each with all that are smaller, their sum and their number. */
  samples(labels: Sample["labels"]): Sample[] {
    let count = 0;
    const buckets = this.#counts.map((n, i) => ({
      labels: { le: this.#bounds[i] ?? "+Inf", ...labels },
      value: count += n,
      suffix: "_bucket",
    }));
    return [
      ...buckets,
      { labels, value: this.#sum, suffix: "_sum" },
      { labels, value: count, suffix: "_count" },
    ];
  }
}

/** Histograms by labels. */
export class Spreads {
  readonly #bounds: readonly number[];
  readonly #spreads = new Map<string, { labels: Sample["labels"]; spread: Spread }>();

  /** Each with these upper bounds. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
  }

  /** How many combinations of labels there are. */
  get size(): number {
    return this.#spreads.size;
  }

  /** Whether there is one under this key. */
  has(key: string): boolean {
    return this.#spreads.has(key);
  }

  /** The histogram under this key; `labels` says what it is for when there is none yet. */
  at(key: string, labels: () => Sample["labels"]): Spread {
    const known = this.#spreads.get(key);
    if (known !== undefined) return known.spread;
    const spread = new Spread(this.#bounds);
    this.#spreads.set(key, { labels: labels(), spread });
    return spread;
  }

  /** All of them. */
  samples(): Sample[] {
    return [...this.#spreads.values()].flatMap(({ labels, spread }) => spread.samples(labels));
  }
}
