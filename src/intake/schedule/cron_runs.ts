/**
 * Which times of a schedule are to fire (`catchUp`): those that come on time, and of those
 * that were missed as many as the trigger wants.
 *
 * @module
 */

import { nextTurn } from "../../base/clock.ts";
import { type CronSpec, DEFAULT_CATCH_UP_WINDOW_SECS } from "../../resources/event_cron.ts";
import type { Schedule } from "../../resources/schedule.ts";

/** A time that is later than this was missed. */
export const ON_TIME_MS = 60_000;
/** Most missed times of one trigger that are made up for. */
export const MAX_CATCH_UP = 1000;
/** Times that are worked out in one go: each takes about a tenth of a millisecond. */
const PAGE = 50;

/**
 * A span of time in milliseconds since the epoch; its first millisecond is not in it, its last is.
 */
export interface Span {
  /** Up to here everything has been looked at. */
  readonly since: number;
  readonly now: number;
  /** The latest time that was ever present: later than `since` when the clock was set back. */
  readonly reached: number;
}

/** What is to become of the times in a span. */
export interface DueRuns {
  /** Times that are to fire, oldest first. */
  readonly fire: readonly number[];
  /** Whether there are others, which are not made up for. */
  readonly missed: boolean;
}

/** The times of `schedule` in a span, and which of them are to fire. */
export async function dueRuns(
  schedule: Schedule,
  span: Span,
  { catchUp = "none", catchUpWindowSecs = DEFAULT_CATCH_UP_WINDOW_SECS }: CronSpec,
): Promise<DueRuns> {
  const { since, now, reached } = span;
  const late = now - ON_TIME_MS;
  const first = schedule.next(since);
  if (first === undefined || first > now) return { fire: [], missed: false };
  if (first >= late) return { fire: runsFrom(schedule, since, now), missed: false };
  const onTime = runsFrom(schedule, Math.max(since, late - 1), now);
  const firstMissed = schedule.next(Math.max(since, reached));
  if (firstMissed === undefined || firstMissed >= late) return { fire: onTime, missed: false };
  const from = Math.max(since + 1, reached + 1, now - catchUpWindowSecs * 1000);
  const most = { none: 0, one: 1, all: MAX_CATCH_UP }[catchUp];
  const madeUpFor = await newestRuns(schedule, { from, to: late - 1 }, most);
  return { fire: [...madeUpFor, ...onTime], missed: madeUpFor[0] !== firstMissed };
}

/** Every time after `since` and up to `now`, oldest first. */
function runsFrom(schedule: Schedule, since: number, now: number): number[] {
  const found: number[] = [];
  for (let at = schedule.next(since); at !== undefined && at <= now; at = schedule.next(at)) {
    found.push(at);
  }
  return found;
}

/** The newest times from `from` up to `to`, at most `most`, oldest first. */
async function newestRuns(
  schedule: Schedule,
  { from, to }: { from: number; to: number },
  most: number,
): Promise<number[]> {
  const found: number[] = [];
  for (let before = to + 1; found.length < most;) {
    const page = schedule.before(before, Math.min(PAGE, most - found.length));
    const inside = page.filter((time) => time >= from);
    found.push(...inside);
    const last = inside.at(-1);
    if (last === undefined || inside.length < page.length) break;
    before = last;
    await nextTurn(); // others want to be answered meanwhile
  }
  return found.reverse();
}
