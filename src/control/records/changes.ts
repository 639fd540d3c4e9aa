/**
 * The changes for which a stream waits. The stream reads everything once, and then only what has
 * changed, limited in rate. When nothing is announced for a while it reads again, because writes of
 * other programs to the database are not announced.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { RecordName } from "../../resources/record_names.ts";
import type { Events } from "../../store/events.ts";

/**
 * The records that may have changed: those with these ids, some of which may be new; `any` record;
 * or none that was announced (`quiet`).
 */
export type Changed = ReadonlySet<string> | "any" | "quiet";

/** Beyond this number of ids, changes are reported as `any`. */
export const MAX_IDS = 200;

/** Reports changes to one stream. */
export interface ChangeSource extends Disposable {
  /** The changes since the last call; waits for one, but no longer than `quietMs`. */
  next(quietMs: number, signal: AbortSignal): Promise<Changed>;
}

/** Changes that were announced and not taken yet. */
export class ChangeSet {
  #ids = new Set<string>();
  #isAny = false;

  get isEmpty(): boolean {
    return !this.#isAny && this.#ids.size === 0;
  }

  /** Adds a record, or with `undefined` any record. */
  add(id: string | undefined): void {
    if (this.#isAny) return;
    if (id !== undefined) this.#ids.add(id);
    if (id !== undefined && this.#ids.size <= MAX_IDS) return;
    this.#isAny = true;
    this.#ids = new Set();
  }

  /** Empties the set, and returns what was in it. */
  take(): Changed {
    const [isAny, ids] = [this.#isAny, this.#ids];
    this.#isAny = false;
    this.#ids = new Set();
    return isAny ? "any" : ids.size > 0 ? ids : "quiet";
  }
}

/** Lets one stream wait for changes. */
export class ChangeSignal {
  #wake: () => void = () => {};

  /** Ends the wait; does nothing when the stream does not wait. */
  send(): void {
    this.#wake();
  }

  /** Waits until {@linkcode send} is called, `ms` have passed, or `signal` aborts. */
  async wait(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = this.#wake = () => resolve();
    signal.addEventListener("abort", wake);
    using _timer = clock.after(ms, wake);
    await promise;
    signal.removeEventListener("abort", wake);
  }
}

/**
 * Collects changes for one stream until they are taken. Create it before the first read, so that no
 * change is missed.
 */
export class Changes implements ChangeSource {
  readonly #spacingMs: number;
  readonly #clock: Clock;
  readonly #subscriptions = new DisposableStack();
  readonly #changed = new ChangeSet();
  readonly #signal = new ChangeSignal();
  #takenAt = -Infinity;

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
      if (changed === record && (id === undefined || isWanted(id))) changes.add(id);
    }));
    return changes;
  }

  subscribe(subscription: Disposable): void {
    this.#subscriptions.use(subscription);
  }

  /** Adds a record, or with `undefined` any record. */
  add(id: string | undefined): void {
    this.#changed.add(id);
    this.#signal.send();
  }

  async next(quietMs: number, signal: AbortSignal): Promise<Changed> {
    if (this.#changed.isEmpty) await this.#signal.wait(quietMs, this.#clock, signal);
    const earlyMs = this.#takenAt + this.#spacingMs - this.#clock.monotonicMs();
    if (earlyMs > 0) await this.#clock.pause(earlyMs, signal);
    this.#takenAt = this.#clock.monotonicMs();
    return this.#changed.take();
  }

  [Symbol.dispose](): void {
    this.#subscriptions.dispose();
  }
}
