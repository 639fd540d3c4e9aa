/**
 * Which times of a schedule fire (`catchUp`): those on time, and of those that were missed as many
 * as the trigger wants.
 *
 * @module
 */

import { nextTurn } from "../../base/clock.ts";
import { type CronSpec, DEFAULT_CATCH_UP_WINDOW_SECS } from "../../resources/event_cron.ts";
import type { Schedule } from "../../resources/schedule.ts";

/** A time that fires later than this counts as missed. */
export const ON_TIME_MS = 60_000;
/** Most missed times of one trigger that are fired late. */
export const MAX_CATCH_UP = 1000;
/**
 * Times that are computed before other work gets a turn: each takes about a tenth of a millisecond.
 */
const BATCH_SIZE = 50;

/** A span of time in milliseconds since the epoch: after its start, up to and including its end. */
export interface Span {
  /** Every time up to here has been handled. */
  readonly since: number;
  readonly now: number;
  /** Latest clock time seen: later than `since` after the clock was set back. */
  readonly reached: number;
}

/** Which times of a span fire. */
export interface DueRuns {
  /** Times that fire, oldest first. */
  readonly fire: readonly number[];
  /** Whether the span has other times, which do not fire any more. */
  readonly missed: boolean;
}

/** Chooses which times of `schedule` in a span fire. */
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
    const page = schedule.before(before, Math.min(BATCH_SIZE, most - found.length));
    const inside = page.filter((time) => time >= from);
    found.push(...inside);
    const last = inside.at(-1);
    if (last === undefined || inside.length < page.length) break;
    before = last;
    await nextTurn(); // lets other work run meanwhile
  }
  return found.reverse();
}
