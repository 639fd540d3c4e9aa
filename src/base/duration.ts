/**
 * Durations as people write and read them: `90`, `"10m"`, `"1h30m"` are read, `3m12s` is written.
 *
 * ```ts
 * import { DURATION_PATTERN, findDurationSecs, shortDuration } from "./duration.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * equal(new RegExp(DURATION_PATTERN).test("1h30m"), true);
 * equal(findDurationSecs("1h30m"), 5400);
 * equal(shortDuration(192_000), "3m12s");
 * ```
 *
 * @module
 */

const UNIT_SECS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Longest duration: a hundred years, so that a time plus a duration can always be shown. */
export const MAX_DURATION_SECS = 36_500 * 86_400;
/** {@linkcode MAX_DURATION_SECS} as text. */
export const MAX_DURATION = "36500d";

/** Pattern of a duration in manifests, for the schemas of kinds. */
export const DURATION_PATTERN = "^([0-9]{1,9}[smhdw])+$";

/**
 * Whole seconds of `10`, `"10"`, `"10m"` or `"1h30m"`; `undefined` for anything else, and for more than
 * {@linkcode MAX_DURATION_SECS}.
 */
export function findDurationSecs(value: string | number): number | undefined {
  const secs = typeof value === "number" ? value : readDuration(value);
  return Number.isInteger(secs) && secs >= 0 && secs <= MAX_DURATION_SECS ? secs : undefined;
}

/** Seconds of a text, without a limit; `NaN` if it is not a duration. */
function readDuration(value: string): number {
  if (/^[0-9]{1,9}$/.test(value)) return Number(value);
  if (!new RegExp(DURATION_PATTERN).test(value)) return NaN;
  let secs = 0;
  for (const [, digits, unit] of value.matchAll(/([0-9]+)([smhdw])/g)) {
    secs += Number(digits) * (UNIT_SECS[unit ?? "s"] ?? 1);
  }
  return secs;
}

/** `ms` in at most two units: `850ms`, `4s`, `3m12s`, `2h5m`, `9d`. */
export function shortDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`;
  const secs = Math.floor(ms / 1000);
  if (secs < 60) return `${secs}s`;
  if (secs < 3600) return pair(Math.floor(secs / 60), "m", secs % 60, "s");
  if (secs < 86_400) return pair(Math.floor(secs / 3600), "h", Math.floor((secs % 3600) / 60), "m");
  return pair(Math.floor(secs / 86_400), "d", Math.floor((secs % 86_400) / 3600), "h");
}

function pair(high: number, highUnit: string, low: number, lowUnit: string): string {
  return low === 0 ? `${high}${highUnit}` : `${high}${highUnit}${low}${lowUnit}`;
}
