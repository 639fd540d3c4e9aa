/**
 * Checks the daemon for faults once a minute, while a Notification asks for them.
 *
 * @module
 */

import type { Core } from "../base/core.ts";
import type { Notifier } from "./notifier.ts";

const INTERVAL_MS = 60_000;
/** Time until the first check: while the daemon starts, passing faults are normal. */
const FIRST_MS = 5000;

interface FaultChecksHost extends Core {
  readonly notifier: Notifier;
  /** Gives one sentence for each fault that this daemon reports, as in `svc status`. */
  readonly faultsToTell: () => Promise<readonly string[]>;
}

/** Checks until it is disposed. */
export class FaultChecks implements AsyncDisposable {
  readonly #host: FaultChecksHost;
  readonly #timers: readonly Disposable[];
  #running: Promise<void> = Promise.resolve();

  /** The first check is some seconds from now. */
  constructor(host: FaultChecksHost) {
    this.#host = host;
    const { clock } = host;
    const check = () => {
      this.#running = this.#running.then(() => this.#check());
    };
    this.#timers = [clock.after(FIRST_MS, check), clock.every(INTERVAL_MS, check)];
  }

  /** Reports the faults, if a Notification asks for them; never rejects. */
  async #check(): Promise<void> {
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
    await this.#running;
  }
}
