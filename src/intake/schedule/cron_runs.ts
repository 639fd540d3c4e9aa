/**
 * Chooses the times of a schedule that fire (`catchUp`): those on time, and as many missed ones as the
 * trigger asks for.
 *
 * @module
 */

import { nextTurn } from "../../base/clock.ts";
import { type CronSpec, DEFAULT_CATCH_UP_WINDOW_SECS } from "../../resources/event_cron.ts";
import type { Schedule } from "../../resources/schedule.ts";

/** A time that fires later than this counts as missed. */
export const ON_TIME_MS = 60_000;
/** Most missed times of a trigger that fire late. */
export const MAX_CATCH_UP = 1000;
/** Times that are computed before other work gets a turn; each takes about 0.1 ms. */
const BATCH_SIZE = 50;

/** A span of time in milliseconds since the epoch: after its start, up to and including its end. */
export interface Span {
  /** Every time up to this one has been handled. */
  readonly since: number;
  readonly now: number;
  /** Latest time of the clock so far: later than `since` after the clock was set back. */
  readonly reached: number;
}

/** The times of a span that fire. */
export interface DueRuns {
  /** Times that fire, oldest first. */
  readonly fire: readonly number[];
  /** Whether the span has other times, which do not fire any more. */
  readonly missed: boolean;
}

/** Chooses the times of `schedule` in a span that fire. */
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
  const times: number[] = [];
  for (let at = schedule.next(since); at !== undefined && at <= now; at = schedule.next(at)) {
    times.push(at);
  }
  return times;
}

/** The newest times from `from` up to `to`, at most `most`, oldest first. */
async function newestRuns(
  schedule: Schedule,
  { from, to }: { from: number; to: number },
  most: number,
): Promise<number[]> {
  const times: number[] = [];
  for (let before = to + 1; times.length < most;) {
    const page = schedule.before(before, Math.min(BATCH_SIZE, most - times.length));
    const inside = page.filter((time) => time >= from);
    times.push(...inside);
    const last = inside.at(-1);
    if (last === undefined || inside.length < page.length) break;
    before = last;
    await nextTurn(); // lets other work run meanwhile
  }
  return times.reverse();
}
