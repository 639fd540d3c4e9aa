/**
 * How long ago something was, in one unit: it fits everywhere, and the whole time is a hover away.
 *
 * @module
 */

/** Units from the longest on, in seconds, each with the length from which it is taken. */
const UNITS: readonly (readonly [unit: string, secs: number, from: number])[] = [
  ["y", 31_536_000, 63_072_000],
  ["w", 604_800, 2_419_200],
  ["d", 86_400, 172_800],
  ["h", 3600, 3600],
  ["m", 60, 60],
  ["s", 1, 1],
];

/** `12 s`, `20 m`, `3 h`, `9 d`, `5 w`; `now` below a second, and where a clock is ahead. */
export function ageOf(ms: number): string {
  const secs = Math.floor(ms / 1000);
  const [unit, size] = UNITS.find(([, , from]) => secs >= from) ?? [];
  return unit === undefined || size === undefined ? "now" : `${Math.floor(secs / size)} ${unit}`;
}
