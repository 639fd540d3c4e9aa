/**
 * The next scheduled times of cron triggers, for `svc get triggers` and `describe`.
 *
 * @module
 */

import { nextTurn, rfc3339 } from "../../base/clock.ts";
import { shortDuration } from "../../base/duration.ts";
import { DEFAULT_TIMEZONE } from "../../resources/event_cron.ts";
import type { Column } from "../../resources/kind.ts";
import type { Resource } from "../../resources/resource.ts";
import { Schedule } from "../../resources/schedule.ts";
import { trigger as kind, type TriggerSpec } from "../../resources/trigger.ts";

/** Number of times that are shown: enough to notice a mistake in a schedule. */
const SHOWN = 5;

/**
 * Schedules that are computed before other work gets a turn: each takes a tenth of a millisecond.
 */
const BATCH_SIZE = 50;

/** Computed times of one schedule. */
interface ComputedTimes {
  /** The time after which they follow. */
  readonly after: number;
  readonly times: readonly number[];
}

/** Computes next times; keeps each parsed schedule for as long as its trigger stays as it is. */
export class NextFires {
  readonly #schedules = new WeakMap<Resource, Schedule>();
  readonly #computed = new WeakMap<Schedule, ComputedTimes>();

  /**
   * The next times of each resource that has some, at most five, in milliseconds since the epoch.
   */
  async of(
    resources: readonly Resource[],
    now: number,
  ): Promise<ReadonlyMap<Resource, readonly number[]>> {
    const found = new Map<Resource, readonly number[]>();
    const made = new Map<string, Schedule>(); // many triggers have the same schedule
    let worked = 0;
    for (const resource of resources) {
      const schedule = this.#scheduleOf(resource, made);
      if (schedule === undefined) continue;
      const { times, computed } = this.#timesOf(schedule, now);
      if (times.length > 0) found.set(resource, times);
      worked += computed;
      if (worked < BATCH_SIZE) continue;
      worked = 0;
      await nextTurn(); // lets other requests run
    }
    return found;
  }

  /** Replaces times that have passed; all times when the clock was set back. */
  #timesOf(schedule: Schedule, now: number): { times: readonly number[]; computed: number } {
    const known = this.#computed.get(schedule);
    const times = known === undefined || known.after > now
      ? []
      : known.times.filter((at) => at > now);
    let computed = 0;
    while (times.length < SHOWN) {
      const next = schedule.next(times.at(-1) ?? now);
      computed++;
      if (next === undefined) break;
      times.push(next);
    }
    this.#computed.set(schedule, { after: now, times });
    return { times, computed };
  }

  #scheduleOf(resource: Resource, made: Map<string, Schedule>): Schedule | undefined {
    if (resource.kind !== kind.kind) return undefined;
    const { event: { source, cron }, suspend } = resource.spec as TriggerSpec;
    if (source !== "cron" || cron === undefined || suspend === true) return undefined;
    const { schedule, timezone = DEFAULT_TIMEZONE } = cron;
    const times = JSON.stringify([schedule, timezone]);
    const found = this.#schedules.get(resource) ?? made.get(times) ??
      new Schedule({ schedule, timezone });
    made.set(times, found);
    this.#schedules.set(resource, found);
    return found;
  }
}

/** The column NEXT of triggers; no column for other kinds. */
export function nextColumns(
  what: string,
  next: ReadonlyMap<Resource, readonly number[]>,
  now: number,
): readonly Column<Resource>[] {
  if (what !== kind.kind) return [];
  const cell = (resource: Resource) => {
    const [at] = next.get(resource) ?? [];
    return at === undefined ? "" : `in ${shortDuration(at - now)}`;
  };
  return [{ header: "NEXT", cell }];
}

/** The next times in the `status` of a trigger; nothing for other kinds. */
export function nextStatus(
  resource: Resource,
  next: ReadonlyMap<Resource, readonly number[]>,
): Record<string, unknown> {
  if (resource.kind !== kind.kind) return {};
  const times = (next.get(resource) ?? []).map(rfc3339);
  return { next_fire_at: times[0] ?? null, next_fires: times };
}
