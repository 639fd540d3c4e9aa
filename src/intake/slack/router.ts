/**
 * Routes stored Slack events after Slack was answered: at most once each, in the order of their
 * thread. Woken by `kick` and by the next event that is due; never polls.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import { defined } from "../../base/defined.ts";
import { AppError, messageOf } from "../../base/errors.ts";
import { SerialRunner } from "../../base/serial_runner.ts";
import type { Events } from "../../store/events.ts";
import type { ClaimedSourceEvent } from "../../store/source_event_records.ts";
import type { SourceEventQueue } from "../../store/source_event_store.ts";
import type { Inboxes } from "../../tasks/step/inbox.ts";
import { decideRouting, type RoutingHost } from "./decide_routing.ts";

/** The queue of events, and the inboxes of tasks. */
export interface RouterHost extends RoutingHost, Core {
  readonly store: SourceEventQueue;
  readonly inboxes: Inboxes;
  /** The announcements of stored events. */
  readonly events: Events;
}

/** Events routed at the same time. */
const MAX_CONCURRENT = 20;
/** About how many of these may belong to one trigger, whose slow filter must not delay the others. */
const MAX_PER_TRIGGER = 10;
/** Age at which a claim is taken over, because its router no longer exists. */
const STALE_MS = 5 * 60_000;
/** Attempts to route one event. */
const MAX_ATTEMPTS = 5;
/** Pause after the first failure; each further one is five times as long. */
const BACKOFF_MS = 1000;
/** Pause after the store failed. */
const RETRY_MS = 1000;
/** How long routing under way may delay the end of the daemon. */
const STOP_WITHIN_MS = 2000;

/** Routes events until disposed. */
export class SlackRouter implements AsyncDisposable {
  readonly #host: RouterHost;
  /** Claims one batch after another. */
  readonly #claims: SerialRunner;
  readonly #subscription: Disposable;
  readonly #routing = new Map<string, Promise<void>>();
  /** Number of events being routed, by trigger. */
  readonly #shares = new Map<string, number>();
  /** Whether the store may have claimed events that no router handles. */
  #hasOrphans = true;
  #retry: Disposable | undefined;

  /** Starts with the events that a previous run of the daemon left. */
  constructor(host: RouterHost) {
    this.#host = host;
    const { clock, log } = host;
    this.#claims = new SerialRunner({
      run: () => this.#claim(),
      onError: (error) => {
        log.error("source events cannot be routed, trying again in a second", { error });
        this.#hasOrphans = true;
      },
      clock,
    });
    this.#subscription = host.events.on("sourceEventsStored", () => this.kick());
    this.kick();
  }

  kick(): void {
    this.#claims.kick();
  }

  /** Finishes the writes under way; all other events stay on disk for the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscription[Symbol.dispose]();
    this.#retry?.[Symbol.dispose]();
    await this.#claims[Symbol.asyncDispose]();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    using _timer = this.#host.clock.after(STOP_WITHIN_MS, resolve);
    await Promise.race([Promise.all(this.#routing.values()), late]);
  }

  async #claim(): Promise<number | undefined> {
    const limit = Math.min(MAX_PER_TRIGGER, MAX_CONCURRENT - this.#routing.size);
    if (limit <= 0) return undefined; // the next event that is routed kicks again
    const { clock, store } = this.#host;
    const busy = [...this.#shares].filter(([, n]) => n >= MAX_PER_TRIGGER).map(([name]) => name);
    const demand = { limit, now: clock.now(), staleMs: STALE_MS, busy };
    const routing = this.#hasOrphans ? [...this.#routing.keys()] : undefined;
    this.#hasOrphans = false;
    const { events, nextAt } = await store.claimSourceEvents({
      ...demand,
      ...defined({ routing }),
    });
    for (const event of events) this.#start(event);
    if (events.length === limit) this.kick();
    return nextAt;
  }

  /** Claims an event again that the store did not take back, after a pause: the store may be down. */
  #recheckOrphans(): void {
    if (this.#claims.isStopped) return;
    this.#retry ??= this.#host.clock.after(RETRY_MS, () => {
      this.#retry = undefined;
      this.#hasOrphans = true;
      this.kick();
    });
  }

  #start(claimed: ClaimedSourceEvent): void {
    const { id, project, trigger } = claimed.event;
    if (this.#claims.isStopped || this.#routing.has(id)) return;
    const name = `${project}/${trigger}`;
    this.#shares.set(name, (this.#shares.get(name) ?? 0) + 1);
    const routing = this.#route(claimed).finally(() => {
      this.#routing.delete(id);
      const left = (this.#shares.get(name) ?? 1) - 1;
      if (left > 0) this.#shares.set(name, left);
      else this.#shares.delete(name);
      this.kick(); // its thread may have a next event
    });
    this.#routing.set(id, routing);
  }

  async #route(claimed: ClaimedSourceEvent): Promise<void> {
    const { store, clock, inboxes, log } = this.#host;
    const { event } = claimed;
    try {
      const routing = await decideRouting(claimed, this.#host);
      if (this.#claims.isStopped) return;
      const routed = await store.routeSourceEvent(event.id, routing, clock.now());
      if (routed.message !== undefined && routed.taskId !== undefined) {
        await inboxes.deliver(routed.taskId, routed.message);
      }
      log.debug("source event routed", { event: event.id, ...routed });
    } catch (error) {
      if (!this.#claims.isStopped) await this.#postpone(claimed, error);
    }
  }

  /** Routes an event again later. `overloaded` is not a fault of the event and costs no attempt. */
  async #postpone({ event }: ClaimedSourceEvent, error: unknown): Promise<void> {
    const { store, clock, log } = this.#host;
    const counts = !(error instanceof AppError && error.code === "overloaded");
    const attempt = event.attempts + 1;
    const last = counts && attempt >= MAX_ATTEMPTS;
    log.warn("source event could not be routed", { event: event.id, last, error });
    const reason = counts ? `attempt ${attempt}: ${messageOf(error)}` : messageOf(error);
    const dueAt = clock.now() + (counts ? BACKOFF_MS * 5 ** event.attempts : BACKOFF_MS);
    try {
      const retry = defined({ dueAt: last ? undefined : dueAt });
      await store.postponeSourceEvent(event.id, { reason, counts, ...retry });
    } catch {
      this.#recheckOrphans();
    }
  }
}
