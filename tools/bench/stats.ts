/**
 * Medians, percentiles and ratios of the bench, and measurements in turn, so that other work on the
 * machine affects all of them alike.
 *
 * @module
 */

/** The middle value; the mean of the two middle ones of an even number. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
  return low === undefined || high === undefined ? NaN : (low + high) / 2;
}

/** The value that a share `part` (0 to 1) of all values do not exceed. */
export function percentile(values: Iterable<number>, part: number): number {
  const sorted = Float64Array.from(values).toSorted();
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] ?? NaN;
}

/**
 * The ratios of two series, value by value: the two values of a pair were measured one right after
 * the other.
 */
export function ratios(values: readonly number[], base: readonly number[]): number[] {
  return values.map((value, index) => value / (base[index] ?? NaN));
}

type Measurements = Readonly<Record<string, (round: number) => Promise<unknown>>>;

/**
 * Runs every measurement once a round, every second round in reverse order; returns the values of
 * each measurement.
 */
export async function run<L extends Measurements>(
  rounds: number,
  measurements: L,
): Promise<{ [Name in keyof L]: Awaited<ReturnType<L[Name]>>[] }> {
  const names = Object.keys(measurements);
  const results: Record<string, unknown[]> = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      results[name]?.push(await measurements[name]?.(round));
    }
  }
  return results as { [Name in keyof L]: Awaited<ReturnType<L[Name]>>[] };
}
