/**
 * Counters and histograms. To count takes about 50 ns; prom-client takes ten times that, because it
 * checks and hashes the labels each time. Labels and values are built when the metrics are read.
 *
 * @module
 */

/** One value of a metric. */
export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** Appended to the name of the metric: `_bucket`, `_sum` or `_count` of a histogram. */
  readonly suffix?: string;
}

/** Counts by labels: a tree of label values with counts at its leaves. */
export class Counter {
  readonly #labels: readonly string[];
  readonly #root = new Map<string, unknown>();
  #ends = 0;

  /** Takes the names of the labels, in the order of their values. */
  constructor(...labels: readonly [string, ...string[]]) {
    this.#labels = labels;
  }

  /** Number of combinations of labels. */
  get size(): number {
    return this.#ends;
  }

  /** Adds one to the count of these values, one for each label. */
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

  /** Whether there is a count whose labels begin with these values. */
  has(...values: readonly string[]): boolean {
    let at: unknown = this.#root;
    for (const value of values) at = at instanceof Map ? at.get(value) : undefined;
    return at !== undefined;
  }

  samples(): Sample[] {
    return walk(this.#root, []).map(({ path, end }) => ({
      labels: this.#named(path),
      value: end as number,
    }));
  }

  /** Removes the counts whose labels `keep` rejects. */
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

/** The leaves of a tree of maps. */
function walk(
  at: ReadonlyMap<string, unknown>,
  path: readonly string[],
): { path: readonly string[]; end: unknown }[] {
  return [...at].flatMap(([key, value]) =>
    value instanceof Map ? walk(value, [...path, key]) : [{ path: [...path, key], end: value }]
  );
}

/** A histogram with cumulative buckets. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  /** Takes the upper bounds of the buckets, the smallest first. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  add(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? 0)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }

  /** The cumulative buckets, the sum and the count. */
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

/** A histogram for each combination of labels. */
export class Histograms {
  readonly #bounds: readonly number[];
  readonly #histograms = new Map<string, { labels: Sample["labels"]; histogram: Histogram }>();

  /** Takes the upper bounds of the buckets. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#histograms.size;
  }

  has(key: string): boolean {
    return this.#histograms.has(key);
  }

  /** The histogram of this key; `labels` gives its labels when it is new. */
  at(key: string, labels: () => Sample["labels"]): Histogram {
    const entry = this.#histograms.get(key);
    if (entry !== undefined) return entry.histogram;
    const histogram = new Histogram(this.#bounds);
    this.#histograms.set(key, { labels: labels(), histogram });
    return histogram;
  }

  samples(): Sample[] {
    return [...this.#histograms.values()].flatMap(({ labels, histogram }) =>
      histogram.samples(labels)
    );
  }
}
