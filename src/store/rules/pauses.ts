/**
 * Which tasks no worker takes, because a person has paused them.
 *
 * @module
 */

import type { Pause } from "../pause_records.ts";

/** Longest time after which a pause ends by itself. */
export const MAX_PAUSE_SECS = 30 * 24 * 60 * 60;

/** What the pauses that are in force mean for a claim. */
export interface Paused {
  /** Whether no task is taken at all. */
  readonly everything: boolean;
  /** Projects of which no task is taken. */
  readonly projects: readonly string[];
  /** When the first of them ends by itself, in milliseconds since the epoch; absent if none does. */
  readonly nextEnd?: number;
}

/** Whether a pause is in force: it ends by itself at its time, and not before. */
export function isInForce({ until }: Pick<Pause, "until">, now: number): boolean {
  return until === undefined || until > now;
}

/** Judges the stored pauses at `now`, in milliseconds since the epoch. */
export function whatIsPaused(
  pauses: readonly Pick<Pause, "project" | "until">[],
  now: number,
): Paused {
  const inForce = pauses.filter((pause) => isInForce(pause, now));
  const ends = inForce.flatMap(({ until }) => until ?? []);
  return {
    everything: inForce.some(({ project }) => project === ""),
    projects: inForce.map(({ project }) => project).filter((project) => project !== ""),
    ...(ends.length === 0 ? {} : { nextEnd: Math.min(...ends) }),
  };
}

/** The earlier of two times; either may be absent. */
export function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? a ?? b : Math.min(a, b);
}
