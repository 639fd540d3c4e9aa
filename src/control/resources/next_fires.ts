/**
 * The next scheduled time of cron triggers, for `svc get triggers`.
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

/**
 * Schedules that are computed before other work gets a turn: each takes about a tenth of a
 * millisecond.
 */
const BATCH_SIZE = 50;

/** Computes next times; keeps each parsed schedule for as long as its trigger stays as it is. */
export class NextFires {
  readonly #schedules = new WeakMap<Resource, Schedule>();

  /** The next time of each resource that has one; milliseconds since the epoch. */
  async of(resources: readonly Resource[], now: number): Promise<ReadonlyMap<Resource, number>> {
    const found = new Map<Resource, number>();
    const made = new Map<string, Schedule>(); // many triggers have the same schedule
    let worked = 0;
    for (const resource of resources) {
      const next = this.#scheduleOf(resource, made)?.next(now);
      if (next === undefined) continue;
      found.set(resource, next);
      if (++worked % BATCH_SIZE === 0) await nextTurn(); // lets other requests run
    }
    return found;
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
  next: ReadonlyMap<Resource, number>,
  now: number,
): readonly Column<Resource>[] {
  if (what !== kind.kind) return [];
  const cell = (resource: Resource) => {
    const at = next.get(resource);
    return at === undefined ? "" : `in ${shortDuration(at - now)}`;
  };
  return [{ header: "NEXT", cell }];
}

/** The next time in the `status` of a trigger; nothing for other kinds. */
export function nextStatus(
  resource: Resource,
  next: ReadonlyMap<Resource, number>,
): Record<string, unknown> {
  if (resource.kind !== kind.kind) return {};
  const at = next.get(resource);
  return { next_fire_at: at === undefined ? null : rfc3339(at) };
}
