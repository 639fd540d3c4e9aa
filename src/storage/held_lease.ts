/**
 * The lease of this daemon. Whether it is over is measured by the time since its last renewal, and
 * published once. It is measured at each question, and not by a timer: a process that was stopped for
 * a while may be asked before any of its timers fires.
 *
 * @module
 */

import type { Core } from "../base/core.ts";
import type { HealthConditions } from "../base/health_conditions.ts";
import type { Guard } from "../shell/guard.ts";
import type { Events } from "../store/events.ts";
import type { Lease } from "../store/lease.ts";
import { clockFault } from "../store/postgres/database/judge_server.ts";
import type { NodeListener } from "../store/postgres/open_store.ts";

/** The parts of the daemon that hear of its lease. */
export interface HeldLeaseHost extends Core {
  readonly events: Events;
  /** Shows `lease` while it is over. */
  readonly health: HealthConditions;
  readonly guard: Pick<Guard, "beat">;
  /** The place of the database in words. */
  readonly place: string;
  /** Time after each renewal in which the daemon relies on the lease. */
  readonly reliableMs: number;
}

const OVER = "The lease of this node has expired: it cannot reach the database, runs no tasks, " +
  "and other nodes may take over its tasks";

/** Listens to the store, which renews the lease. */
export class HeldLease implements Lease, NodeListener {
  readonly #host: HeldLeaseHost;
  #until = Infinity;
  #isOver = false;
  #inHand: (() => ReadonlySet<string>) | undefined;

  constructor(host: HeldLeaseHost) {
    this.#host = host;
  }

  isOver(): boolean {
    if (this.#host.clock.monotonicMs() >= this.#until) this.onLost();
    return this.#isOver;
  }

  covers(inHand: () => ReadonlySet<string>): void {
    this.#inHand = inHand;
  }

  inHand(): ReadonlySet<string> | undefined {
    return this.#inHand?.();
  }

  onRenewed(agoMs: number): void {
    const { clock, guard, reliableMs } = this.#host;
    this.#until = clock.monotonicMs() - agoMs + reliableMs;
    guard.beat(agoMs);
    if (this.#isOver && agoMs < reliableMs) this.#regain();
  }

  onLost(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { events, health, log } = this.#host;
    health.set("lease", OVER);
    log.warn("the lease of this node has expired, stopping all work here");
    events.publish("leaseEnded", undefined);
  }

  onClock(aheadMs: number): void {
    const { health, place } = this.#host;
    const fault = clockFault(place, aheadMs);
    if (fault === undefined) health.clear("clock");
    else health.set("clock", fault);
  }

  onCancelled(tasks: readonly { readonly id: string; readonly reason: string }[]): void {
    for (const { id, reason } of tasks) {
      this.#host.events.publish("taskStopping", { taskId: id, reason });
    }
  }

  onClaimsLost(taskIds: readonly string[]): void {
    this.#host.events.publish("claimsLost", { taskIds });
  }

  #regain(): void {
    this.#isOver = false;
    const { events, health, log } = this.#host;
    health.clear("lease");
    log.info("this node has its lease again");
    events.publish("leaseRegained", undefined);
  }
}
