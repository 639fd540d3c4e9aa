/**
 * Looks once a minute for faults of the daemon, while a Notification wants to hear of them.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Notifier } from "./notifier.ts";

/** Time between two looks. */
const INTERVAL_MS = 60_000;
/** Time until the first one: at the start much is not yet as it will be. */
const FIRST_MS = 5000;

/** What looking for faults needs. */
export interface FaultWatchHost {
  readonly notifier: Pick<Notifier, "tellFaults" | "wantsFaults">;
  /** One sentence for each fault, as `svc status` has them; what another daemon tells is not here. */
  readonly faultsToTell: () => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Looks until disposed. */
export class FaultWatch implements AsyncDisposable {
  readonly #host: FaultWatchHost;
  readonly #timers: readonly Disposable[];
  #looking: Promise<void> = Promise.resolve();

  /** Begins some seconds from now. */
  constructor(host: FaultWatchHost) {
    this.#host = host;
    const { clock } = host;
    const look = () => {
      this.#looking = this.#looking.then(() => this.look());
    };
    this.#timers = [clock.after(FIRST_MS, look), clock.every(INTERVAL_MS, look)];
  }

  /** Looks once; never rejects. */
  async look(): Promise<void> {
    const { notifier, faultsToTell, log } = this.#host;
    if (!notifier.wantsFaults()) return;
    try {
      notifier.tellFaults(await faultsToTell());
    } catch (error) {
      log.warn("the check for faults of the daemon failed", { error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) timer[Symbol.dispose]();
    await this.#looking;
  }
}
