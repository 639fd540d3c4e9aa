/**
 * Fires triggers by the clock: never twice for one time, however the clock is moved, and
 * what was missed while the daemon was away as each trigger wants it. One timer for all of them.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import { eventId } from "../../base/ids.ts";
import type { Log } from "../../base/log.ts";
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

/** What the source needs. */
export interface CronHost extends FireHost {
  /** Where deliveries are recorded, and cursors. */
  readonly store: CursorStore & DeliveryRecorder;
  /** Holds the triggers. */
  readonly catalog: Catalog;
  /** Triggers ready to be fired. */
  readonly triggers: Triggers;
  readonly log: Log;
}

/** A trigger and how far it has got. */
interface Plan {
  readonly name: { readonly project: string; readonly trigger: string };
  /** When the resource was made: another one of the same name has another time. */
  readonly createdAt: number;
  readonly times: string;
  readonly schedule: Schedule;
  spec: CronSpec;
  /** Up to here everything has been looked at. */
  looked: number;
  /** The latest time at which it was looked at: later than `looked` when the clock was set back. */
  reached: number;
  next: number | undefined;
  /** Spans that came due, oldest first. */
  readonly due: Span[];
}

/** Longest time between two looks at clock and resources: clocks jump, and applies come. */
const POLL_INTERVAL_MS = 1000;
/** Triggers that are worked on at once, and cursors that are read at once. */
const AT_ONCE = 32;

/** Fires triggers until disposed. */
export class CronSource implements AsyncDisposable {
  readonly #host: CronHost;
  readonly #stopping = new AbortController();
  /** By schedule and zone: many triggers have the same. */
  #schedules = new Map<string, Schedule>();
  #plans = new Map<string, Plan>();
  #version = -1;
  #refreshing: Promise<void> | undefined;
  readonly #waiting: Plan[] = [];
  readonly #working = new Set<Promise<void>>();
  #timer: Disposable | undefined;

  /** Takes up what is left from before. */
  constructor(host: CronHost) {
    this.#host = host;
    this.look();
  }

  /** Fires what has come due since the last look. */
  look(): void {
    if (this.#stopping.signal.aborted) return;
    const { catalog, clock } = this.#host;
    if (this.#version !== catalog.version) {
      this.#refreshing ??= this.#refresh().finally(() => this.#refreshing = undefined);
    }
    const now = clock.now();
    let waitMs = POLL_INTERVAL_MS;
    for (const plan of this.#plans.values()) {
      // The clock was set back: those times come again, and each knows whether it has been stored.
      if (plan.looked > now) advance(plan, now);
      if (plan.next !== undefined && plan.next <= now) this.#schedule(plan, now);
      if (plan.next !== undefined) waitMs = Math.min(waitMs, plan.next - now);
    }
    this.#timer?.[Symbol.dispose]();
    this.#timer = clock.after(Math.max(1, waitMs), () => this.look());
  }

  /** Resolves when everything that had come due has been dealt with. */
  async settled(): Promise<void> {
    while (this.#refreshing !== undefined || this.#working.size > 0) {
      await Promise.all([this.#refreshing, ...this.#working]);
    }
  }

  /** Starts nothing more; what has come due and is not stored comes due again at the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#timer?.[Symbol.dispose]();
    this.#waiting.length = 0;
    await this.settled();
  }

  #schedule(plan: Plan, now: number): void {
    plan.due.push({ since: plan.looked, now, reached: plan.reached });
    advance(plan, now);
    if (plan.due.length === 1) this.#waiting.push(plan);
    while (this.#waiting.length > 0 && this.#working.size < AT_ONCE) {
      const work: Promise<void> = this.#work().finally(() => this.#working.delete(work));
      this.#working.add(work);
    }
  }

  /** Works on whatever waits until nothing does; the times of one trigger in their order. */
  async #work(): Promise<void> {
    for (let plan = this.#waiting.shift(); plan !== undefined; plan = this.#waiting.shift()) {
      for (let [span] = plan.due; span !== undefined; [span] = plan.due) {
        await this.#fireDue(plan, span).catch((error) => this.#complain(plan, error));
        plan.due.shift();
        if (this.#stopping.signal.aborted) return;
      }
    }
  }

  async #fireDue(plan: Plan, span: Span): Promise<void> {
    const { store, clock, log } = this.#host;
    const { signal } = this.#stopping;
    const { fire: runs, missed } = await dueRuns(plan.schedule, span, plan.spec);
    if (missed) {
      const { catchUp: catch_up = "none" } = plan.spec;
      log.warn("a cron trigger missed times", {
        ...plan.name,
        catch_up,
        made_up_for: runs.length,
        since: rfc3339(span.since),
      });
    }
    for (const at of runs) {
      if (signal.aborted) return;
      await retryWhileOverloaded(() => this.#fire(plan, at), { clock, signal }).catch((error) =>
        this.#complain(plan, error)
      );
    }
    if (!missed || runs.length > 0) return;
    await retryWhileOverloaded(
      () => store.moveCursor({ name: cursorOf(plan), at: span.now }),
      { clock, signal },
    );
  }

  async #fire(plan: Plan, at: number): Promise<void> {
    const { project, trigger: name } = plan.name;
    const trigger = this.#host.triggers.find({ ...plan.name, source: "cron" });
    if (trigger === undefined) return;
    await fire({
      trigger,
      source: "cron",
      once: true,
      id: eventId(at, JSON.stringify(["cron", project, name, at])),
      payload: { scheduled_at: rfc3339(at), fired_at: rfc3339(this.#host.clock.now()) },
      cursor: { name: cursorOf(plan), at },
    }, this.#host);
  }

  #complain({ name }: Plan, error: unknown): void {
    if (this.#stopping.signal.aborted) return; // it comes due again at the next start
    this.#host.log.error("a cron trigger could not be fired", { ...name, error });
  }

  /** Makes the plans fit the resources. */
  async #refresh(): Promise<void> {
    const { catalog, log } = this.#host;
    try {
      while (this.#version !== catalog.version && !this.#stopping.signal.aborted) {
        const { version } = catalog;
        const triggers = (catalog.list("Trigger") as Resource<TriggerSpec>[])
          .flatMap((one) => one.spec.event.source === "cron" ? [one] : []);
        const plans = new Map<string, Plan>();
        for (let at = 0; at < triggers.length; at += AT_ONCE) {
          const some = triggers.slice(at, at + AT_ONCE);
          const made = await Promise.all(some.map((trigger) => this.#planOf(trigger)));
          for (const plan of made) if (plan !== undefined) plans.set(cursorOf(plan), plan);
        }
        this.#plans = plans;
        this.#schedules = new Map([...plans.values()].map((one) => [one.times, one.schedule]));
        this.#version = version;
      }
    } catch (error) {
      log.warn("cron triggers cannot be planned, trying again in a second", { error });
      return;
    }
    this.look();
  }

  async #planOf(resource: Resource<TriggerSpec>): Promise<Plan | undefined> {
    const { project, name, createdAt, updatedAt, spec } = resource;
    const { store, clock } = this.#host;
    const cron = spec.event.cron ?? { schedule: "" };
    const times = JSON.stringify([cron.schedule, cron.timezone ?? DEFAULT_TIMEZONE]);
    const plan = { name: { project, trigger: name }, createdAt, times, spec: cron };
    const key = cursorOf(plan);
    const known = this.#plans.get(key);
    if (known?.createdAt === createdAt && known.times === times) {
      known.spec = cron;
      return known;
    }
    const schedule = this.#scheduleOf(times, cron);
    if (schedule === undefined) return undefined;
    const cursor = await store.findCursor(key);
    // At the start the cursor says how far it had got. Whatever else is new here was made or changed
    // just now, and no time from before that is any of its business.
    const isFirst = this.#version === -1 && cursor !== undefined;
    const from = Math.max(cursor ?? 0, known?.reached ?? 0, isFirst ? createdAt : updatedAt);
    const looked = Math.min(from, clock.now());
    if (!isFirst) await store.moveCursor({ name: key, at: looked });
    return { ...plan, schedule, looked, reached: from, next: schedule.next(looked), due: [] };
  }

  /** One that passed its check and cannot be parsed now is alone in not being fired. */
  #scheduleOf(times: string, { schedule, timezone = DEFAULT_TIMEZONE }: CronSpec) {
    const known = this.#schedules.get(times);
    if (known !== undefined) return known;
    try {
      const made = new Schedule({ schedule, timezone });
      this.#schedules.set(times, made);
      return made;
    } catch (error) {
      this.#host.log.error("a schedule cannot be understood", { schedule, timezone, error });
      return undefined;
    }
  }
}

function advance(plan: Plan, to: number): void {
  plan.looked = to;
  plan.reached = Math.max(plan.reached, to);
  plan.next = plan.schedule.next(to);
}

function cursorOf({ name: { project, trigger } }: Pick<Plan, "name">): string {
  return `cron:${project}/${trigger}`;
}
