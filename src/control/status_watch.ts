/**
 * The state of the daemon as a stream. All that watch it share one look, and an idle daemon has
 * nothing to tell.
 *
 * @module
 */

import type { Status } from "../api/status_operations.ts";
import type { Caller } from "../auth/caller.ts";
import { type DaemonStatus, daemonStatus, type StatusHost, withCaller } from "./records/status.ts";

/** Shortest time between two looks. */
const SPACING_MS = 2000;

/** The state of one daemon, for those that watch it. */
export class StatusWatch {
  readonly #host: StatusHost;
  #lookedAt = -Infinity;
  #look: Promise<DaemonStatus> | undefined;

  /** Looks at nothing yet. */
  constructor(host: StatusHost) {
    this.#host = host;
  }

  /** Yields the state now, and again when it has changed in anything but the time that passes. */
  async *watch(caller: Caller, signal: AbortSignal): AsyncGenerator<Status> {
    for (let known = ""; !signal.aborted;) {
      const status = await this.#recent();
      const { time: _time, uptime_secs: _uptime, nodes, ...rest } = status;
      const { lease_until: _lease, ...others } = nodes ?? {};
      const found = JSON.stringify([rest, others]);
      if (found !== known) yield withCaller(status, caller);
      known = found;
      await this.#host.clock.pause(this.#lookedAt + SPACING_MS - this.#now(), signal);
    }
  }

  /** The look of another who watches too, when it is recent enough. */
  #recent(): Promise<DaemonStatus> {
    if (this.#look === undefined || this.#now() >= this.#lookedAt + SPACING_MS) {
      this.#lookedAt = this.#now();
      this.#look = daemonStatus(this.#host);
    }
    return this.#look;
  }

  #now(): number {
    return this.#host.clock.monotonicMs();
  }
}
