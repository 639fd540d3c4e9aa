/**
 * Fires triggers on their schedules: never twice for the same time, however the clock is set, and
 * missed times as each trigger's `catchUp` says. One timer serves all triggers.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import { rfc3339 } from "../../base/clock.ts";
import { eventId } from "../../base/ids.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { type CronSpec, DEFAULT_TIMEZONE } from "../../resources/event_cron.ts";
import type { Resource } from "../../resources/resource.ts";
import { Schedule } from "../../resources/schedule.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import { retryWhileOverloaded } from "../../base/retry_while_overloaded.ts";
import type { Triggers } from "../admission/triggers.ts";
import { dueRuns, type Span } from "./cron_runs.ts";
import { fire, type FireHost } from "../pipeline/fire.ts";
import type { CursorStore, DeliveryRecorder } from "../../store/delivery_store.ts";
import { byCurrentResources } from "../../store/stale_resources.ts";

/** The triggers, and the store of their cursors. */
export interface CronHost extends FireHost, Core {
  readonly store: CursorStore & DeliveryRecorder;
  readonly catalog: Catalog;
  readonly triggers: Triggers;
}

/** A trigger and the progress of its schedule. */
interface Timeline {
  readonly name: { readonly project: string; readonly trigger: string };
  /** When the resource was created, which tells it from a later resource of the same name. */
  readonly createdAt: number;
  readonly times: string;
  readonly schedule: Schedule;
  spec: CronSpec;
  /** Every time up to this one has been handled or is in `due`. */
  cursor: number;
  /** Latest time of the clock so far: later than the cursor after the clock was set back. */
  reached: number;
  next: number | undefined;
  /** Spans of time that are due and wait, oldest first. */
  readonly due: Span[];
}

/**
 * Longest time between two polls of clock and resources: clocks jump, and resources are applied.
 */
const POLL_INTERVAL_MS = 1000;
/** Most triggers that fire at once, and most cursors that are read at once. */
const MAX_CONCURRENT = 32;

/** Fires the cron triggers until disposed. */
export class CronSource implements AsyncDisposable {
  readonly #host: CronHost;
  readonly #stopping = new AbortController();
  /** Parsed schedules, by schedule and zone: many triggers share one. */
  #schedules = new Map<string, Schedule>();
  #timelines = new Map<string, Timeline>();
  #version = -1;
  #refreshing: Promise<void> | undefined;
  readonly #waiting: Timeline[] = [];
  readonly #working = new Set<Promise<void>>();
  #timer: Disposable | undefined;

  /** Continues from the stored cursors. */
  constructor(host: CronHost) {
    this.#host = host;
    this.poll();
  }

  /** Fires the times that have come due since the last poll. */
  poll(): void {
    if (this.#stopping.signal.aborted) return;
    const { catalog, clock } = this.#host;
    if (this.#version !== catalog.version) {
      this.#refreshing ??= this.#refresh().finally(() => this.#refreshing = undefined);
    }
    const now = clock.now();
    let waitMs = POLL_INTERVAL_MS;
    for (const timeline of this.#timelines.values()) {
      // The clock was set back: those times recur, and the store ignores those that have fired.
      if (timeline.cursor > now) advance(timeline, now);
      if (timeline.next !== undefined && timeline.next <= now) this.#schedule(timeline, now);
      if (timeline.next !== undefined) waitMs = Math.min(waitMs, timeline.next - now);
    }
    this.#timer?.[Symbol.dispose]();
    this.#timer = clock.after(Math.max(1, waitMs), () => this.poll());
  }

  /** Resolves when every time that had come due has fired or was recorded as missed. */
  async settled(): Promise<void> {
    while (this.#refreshing !== undefined || this.#working.size > 0) {
      await Promise.all([this.#refreshing, ...this.#working]);
    }
  }

  /** Stops; times that came due and are not stored come due again at the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#timer?.[Symbol.dispose]();
    this.#waiting.length = 0;
    await this.settled();
  }

  #schedule(timeline: Timeline, now: number): void {
    timeline.due.push({ since: timeline.cursor, now, reached: timeline.reached });
    advance(timeline, now);
    if (timeline.due.length === 1) this.#waiting.push(timeline);
    while (this.#waiting.length > 0 && this.#working.size < MAX_CONCURRENT) {
      const work: Promise<void> = this.#work().finally(() => this.#working.delete(work));
      this.#working.add(work);
    }
  }

  /** Fires the waiting timelines; the times of a trigger in their order. */
  async #work(): Promise<void> {
    for (
      let timeline = this.#waiting.shift();
      timeline !== undefined;
      timeline = this.#waiting.shift()
    ) {
      for (let [span] = timeline.due; span !== undefined; [span] = timeline.due) {
        await this.#fireDue(timeline, span).catch((error) => this.#logFailure(timeline, error));
        timeline.due.shift();
        if (this.#stopping.signal.aborted) return;
      }
    }
  }

  async #fireDue(timeline: Timeline, span: Span): Promise<void> {
    const { store, clock, log } = this.#host;
    const { signal } = this.#stopping;
    const { fire: runs, missed } = await dueRuns(timeline.schedule, span, timeline.spec);
    if (missed) {
      const { catchUp: catch_up = "none" } = timeline.spec;
      log.warn("a cron trigger missed scheduled times", {
        ...timeline.name,
        catch_up,
        made_up_for: runs.length,
        since: rfc3339(span.since),
      });
    }
    for (const at of runs) {
      if (signal.aborted) return;
      await retryWhileOverloaded(() => this.#fire(timeline, at), { clock, signal }).catch((error) =>
        this.#logFailure(timeline, error)
      );
    }
    if (!missed || runs.length > 0) return;
    await retryWhileOverloaded(
      () => store.moveCursor({ name: cursorOf(timeline), at: span.now }),
      { clock, signal },
    );
  }

  #fire(timeline: Timeline, at: number): Promise<void> {
    const { project, trigger: name } = timeline.name;
    const { triggers, resources, clock } = this.#host;
    return byCurrentResources(resources, async (resourceVersion) => {
      const trigger = triggers.find({ ...timeline.name, source: "cron" });
      if (trigger === undefined || !isTimeOf(trigger.resource, { timeline, at })) return;
      await fire({
        trigger,
        resourceVersion,
        source: "cron",
        once: true,
        id: eventId(at, JSON.stringify(["cron", project, name, at])),
        payload: { scheduled_at: rfc3339(at), fired_at: rfc3339(clock.now()) },
        cursor: { name: cursorOf(timeline), at },
      }, this.#host);
    });
  }

  #logFailure({ name }: Timeline, error: unknown): void {
    if (this.#stopping.signal.aborted) return; // it comes due again at the next start
    this.#host.log.error("a cron trigger could not be fired", { ...name, error });
  }

  /** Brings the timelines up to date with the resources. */
  async #refresh(): Promise<void> {
    const { catalog, log } = this.#host;
    try {
      while (this.#version !== catalog.version && !this.#stopping.signal.aborted) {
        const { version } = catalog;
        const triggers = (catalog.list("Trigger") as Resource<TriggerSpec>[])
          .filter(({ spec }) => spec.event.source === "cron");
        const timelines = new Map<string, Timeline>();
        for (let at = 0; at < triggers.length; at += MAX_CONCURRENT) {
          const batch = triggers.slice(at, at + MAX_CONCURRENT);
          for (const timeline of await Promise.all(batch.map((one) => this.#timelineOf(one)))) {
            if (timeline !== undefined) timelines.set(cursorOf(timeline), timeline);
          }
        }
        this.#timelines = timelines;
        this.#schedules = new Map(
          [...timelines.values()].map(({ times, schedule }) => [times, schedule]),
        );
        this.#version = version;
      }
    } catch (error) {
      log.warn("cron triggers could not be scheduled, trying again in a second", { error });
      return;
    }
    this.poll();
  }

  async #timelineOf(resource: Resource<TriggerSpec>): Promise<Timeline | undefined> {
    const { project, name, createdAt, updatedAt, spec } = resource;
    const { store, clock } = this.#host;
    const cron = spec.event.cron ?? { schedule: "" };
    const times = timesOf(cron);
    const timeline = { name: { project, trigger: name }, createdAt, times, spec: cron };
    const key = cursorOf(timeline);
    const known = this.#timelines.get(key);
    if (known?.createdAt === createdAt && known.times === times) {
      known.spec = cron;
      return known;
    }
    const schedule = this.#scheduleOf(times, cron);
    if (schedule === undefined) return undefined;
    const stored = await store.findCursor(key);
    // At the start of the daemon a schedule continues at its stored cursor. Later, a new timeline
    // belongs to a trigger that was just created or changed, so earlier times are not its own.
    const isFirst = this.#version === -1 && stored !== undefined;
    const from = Math.max(stored ?? 0, known?.reached ?? 0, isFirst ? createdAt : updatedAt);
    const cursor = Math.min(from, clock.now());
    if (!isFirst) await store.moveCursor({ name: key, at: cursor });
    return { ...timeline, schedule, cursor, reached: from, next: schedule.next(cursor), due: [] };
  }

  /** The parsed schedule. One that cannot be parsed, though it was valid, affects only its trigger. */
  #scheduleOf(times: string, { schedule, timezone = DEFAULT_TIMEZONE }: CronSpec) {
    const known = this.#schedules.get(times);
    if (known !== undefined) return known;
    try {
      const parsed = new Schedule({ schedule, timezone });
      this.#schedules.set(times, parsed);
      return parsed;
    } catch (error) {
      this.#host.log.error("a schedule cannot be parsed", { schedule, timezone, error });
      return undefined;
    }
  }
}

const timesOf = ({ schedule, timezone = DEFAULT_TIMEZONE }: CronSpec) =>
  JSON.stringify([schedule, timezone]);

/** Whether a trigger had this schedule at a time of it: another daemon may have changed it before. */
function isTimeOf(
  { updatedAt, spec: { event: { cron } } }: Resource<TriggerSpec>,
  { timeline, at }: { readonly timeline: Timeline; readonly at: number },
): boolean {
  return updatedAt > at || cron !== undefined && timesOf(cron) === timeline.times;
}

function advance(timeline: Timeline, to: number): void {
  timeline.cursor = to;
  timeline.reached = Math.max(timeline.reached, to);
  timeline.next = timeline.schedule.next(to);
}

function cursorOf({ name: { project, trigger } }: Pick<Timeline, "name">): string {
  return `cron:${project}/${trigger}`;
}
