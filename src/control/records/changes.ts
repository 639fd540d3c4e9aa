/**
 * What a stream of changing state waits for: it reads once, and then again only what has changed,
 * limited in rate. When nothing was announced for a while, it reads too, because writes by other
 * programs to the database are not announced.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { RecordName } from "../../resources/record_names.ts";
import type { Events } from "../../store/events.ts";

/**
 * What may have changed: the records with these ids, of which some may be new; `any` record; or, as
 * far as was announced, none (`quiet`).
 */
export type Changed = ReadonlySet<string> | "any" | "quiet";

/** Beyond this number of ids, changes are reported as `any`. */
export const MAX_IDS = 200;

/**
 * Collects changes until they are taken. Create it before the first read, so that no change is
 * missed.
 */
export class Changes implements Disposable {
  readonly #spacingMs: number;
  readonly #clock: Clock;
  readonly #subscriptions = new DisposableStack();
  #ids = new Set<string>();
  #isAny = false;
  #takenAt = -Infinity;
  #addedUpTo = 0;
  #place = 0;
  /** Ends the wait for an announcement; does nothing when no wait is under way. */
  #wake: () => void = () => {};

  /** Subscribes to nothing yet; reports changes at most every `spacingMs` milliseconds. */
  constructor({ spacingMs, clock }: { readonly spacingMs: number; readonly clock: Clock }) {
    this.#spacingMs = spacingMs;
    this.#clock = clock;
  }

  /** Changes of one type of record; those with an id only if `isWanted` accepts it. */
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
    changes.subscribe(events.on("recordsChanged", ({ record: changed, id }) => {
      if (changed !== record) return;
      if (id === undefined) changes.addAny();
      else if (isWanted(id)) changes.add(id);
    }));
    return changes;
  }

  subscribe(subscription: Disposable): void {
    this.#subscriptions.use(subscription);
  }

  add(id: string): void {
    if (this.#isAny) return;
    this.#ids.add(id);
    if (this.#ids.size > MAX_IDS) return this.addAny();
    this.#wake();
  }

  addAny(): void {
    if (this.#isAny) return;
    this.#isAny = true;
    this.#ids = new Set();
    this.#wake();
  }

  /** Place of another's changes up to which those that were taken go. */
  get place(): number {
    return this.#place;
  }

  /** Adds changes that another has collected, up to this place of its own. */
  addAll(changed: Changed, place: number): void {
    this.#addedUpTo = place;
    if (changed === "any") this.addAny();
    else if (changed !== "quiet") { for (const id of changed) this.add(id); }
  }

  /** The changes since the last call; waits for one, but no longer than `quietMs`. */
  async next(quietMs: number, signal: AbortSignal): Promise<Changed> {
    if (!this.#isAny && this.#ids.size === 0) await this.#announced(quietMs, signal);
    const earlyMs = this.#takenAt + this.#spacingMs - this.#clock.monotonicMs();
    if (earlyMs > 0) await this.#clock.pause(earlyMs, signal);
    this.#takenAt = this.#clock.monotonicMs();
    return this.take();
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

  /** The changes since the last call; waits for none. */
  take(): Changed {
    this.#place = this.#addedUpTo;
    const [isAny, ids] = [this.#isAny, this.#ids];
    this.#isAny = false;
    this.#ids = new Set();
    return isAny ? "any" : ids.size > 0 ? ids : "quiet";
  }

  [Symbol.dispose](): void {
    this.#subscriptions.dispose();
  }
}
