/**
 * A length of time in one unit, short enough for a column.
 *
 * @module
 */

/** Units from the longest to the shortest; `from` is the least length that is shown in the unit. */
const UNITS: readonly (readonly [unit: string, secs: number, from: number])[] = [
  ["y", 31_536_000, 63_072_000],
  ["w", 604_800, 2_419_200],
  ["d", 86_400, 172_800],
  ["h", 3600, 3600],
  ["m", 60, 60],
  ["s", 1, 1],
];

/** `12 s`, `20 m`, `3 h`, `9 d`, `5 w`; `now` for less than a second, also below zero. */
export function ageOf(ms: number): string {
  const secs = Math.floor(ms / 1000);
  const [unit, size] = UNITS.find(([, , from]) => secs >= from) ?? [];
  return unit === undefined || size === undefined ? "now" : `${Math.floor(secs / size)} ${unit}`;
}
