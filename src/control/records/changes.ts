/**
 * What a stream that shows how things stand waits for: it reads once, and again only what has
 * changed, at most every so often. From time to time it hears that nothing was announced: what
 * comes past the daemon, such as another program that writes to the database, is announced by
 * nobody.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { RecordName } from "../../resources/record_names.ts";
import type { Events } from "../../store/events.ts";

/**
 * What may have changed: what has these ids and was known before; `any` of all, also something new;
 * or as far as was announced, nothing, which is `quiet`.
 */
export type Changed = ReadonlySet<string> | "any" | "quiet";

/** More ids than these are not kept apart. */
const MAX_IDS = 200;

/**
 * Collects changes until they are taken. To be made before the first look, so that none is missed.
 */
export class Changes implements Disposable {
  readonly #spacingMs: number;
  readonly #clock: Clock;
  readonly #subscriptions = new DisposableStack();
  #ids = new Set<string>();
  #isAny = false;
  #takenAt = -Infinity;
  /** Ends the wait for an announcement, while there is one. */
  #wake: () => void = () => {};

  /** Hears of nothing yet; gives what it hears of at most every `spacingMs` milliseconds. */
  constructor({ spacingMs, clock }: { readonly spacingMs: number; readonly clock: Clock }) {
    this.#spacingMs = spacingMs;
    this.#clock = clock;
  }

  /** Changes of one type of record; of those with an id only where `isWanted` says so. */
  static ofRecords(
    { events, record, spacingMs, clock, isWanted = () => true }: {
      readonly events: Events;
      readonly record: RecordName;
      readonly spacingMs: number;
      readonly clock: Clock;
      readonly isWanted?: (id: string) => boolean;
    },
  ): Changes {
    const changes = new Changes({ spacingMs, clock });
    changes.hear(events.on("recordsChanged", ({ record: changed, id }) => {
      if (changed !== record) return;
      if (id === undefined) changes.addAny();
      else if (isWanted(id)) changes.add(id);
    }));
    return changes;
  }

  /** Ends this subscription with the others. */
  hear(subscription: Disposable): void {
    this.#subscriptions.use(subscription);
  }

  /** What has this id has changed. */
  add(id: string): void {
    if (this.#isAny) return;
    this.#ids.add(id);
    if (this.#ids.size > MAX_IDS) return this.addAny();
    this.#wake();
  }

  /** Anything may have changed. */
  addAny(): void {
    if (this.#isAny) return;
    this.#isAny = true;
    this.#ids = new Set();
    this.#wake();
  }

  /** What was announced since this was asked last; waits for it, but no longer than `quietMs`. */
  async next(quietMs: number, signal: AbortSignal): Promise<Changed> {
    if (!this.#isAny && this.#ids.size === 0) await this.#announced(quietMs, signal);
    const earlyMs = this.#takenAt + this.#spacingMs - this.#clock.monotonicMs();
    if (earlyMs > 0) await this.#clock.pause(earlyMs, signal);
    this.#takenAt = this.#clock.monotonicMs();
    return this.#take();
  }

  async #announced(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = this.#wake = () => resolve();
    signal.addEventListener("abort", wake);
    using _timer = this.#clock.after(ms, wake);
    await promise;
    signal.removeEventListener("abort", wake);
  }

  #take(): Changed {
    const [isAny, ids] = [this.#isAny, this.#ids];
    this.#isAny = false;
    this.#ids = new Set();
    return isAny ? "any" : ids.size > 0 ? ids : "quiet";
  }

  /** Hears no more. */
  [Symbol.dispose](): void {
    this.#subscriptions.dispose();
  }
}
