/**
 * The changes of one type of record, for all streams of a daemon that follow it. They all hear of
 * changes at the same moment, so that equal reads of several streams can be made once.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { Events } from "../../store/events.ts";
import type { IdSearch } from "../../store/id_search.ts";
import { type Changed, ChangeSet, ChangeSignal, type ChangeSource, MAX_IDS } from "./changes.ts";
import { listInSteps, listNewest, type Part } from "./list_in_steps.ts";
import type { RecordQuery, RecordStore, RecordType } from "./record_type.ts";
import { findRecord } from "./records.ts";

/** Reads records of one type. */
export interface RecordReads {
  /** The newest rows that one call finds among as many as it may look at. */
  newest(query: RecordQuery): Promise<readonly unknown[]>;
  /** The rows of a list, as many as are asked for, or as many as one search finds. */
  list(query: RecordQuery): Promise<Part>;
  /**
   * The row with this id.
   *
   * @throws {AppError} `not_found`.
   */
  find(id: string): Promise<unknown>;
}

/** Reads records of one type from the store. */
export function recordReads(
  type: RecordType<unknown>,
  store: RecordStore & IdSearch,
): RecordReads {
  return {
    newest: (query) => listNewest(type, query, store),
    list: (query) => listInSteps(type, query, store),
    find: (id) => findRecord(type, id, store),
  };
}

/**
 * The changes of one type of record, reported in numbered batches. A stream that was interrupted
 * names the last batch that it has received, and continues after it.
 */
export class RecordFeed {
  /**
   * Reads that equal queries share while they are under way. Only for followers: the answer may be
   * as old as the last batch.
   */
  readonly reads: RecordReads;
  readonly #clock: Clock;
  readonly #spacingMs: number;
  readonly #caches: readonly { clear(): void }[];
  /** What was announced since the last batch. */
  readonly #announced = new ChangeSet();
  /** The last batch of each of the records that changed last, by id; the oldest batch first. */
  readonly #batches = new Map<string, number>();
  /** The number of the last batch whose changes are no longer in `#batches`. */
  #forgotten = 0;
  #last = 0;
  #reportedAt = -Infinity;
  /** The timer of the next report; set while there is a follower. */
  #report: Disposable | undefined;
  readonly #followers = new Set<ChangeSignal>();

  /** Collects what is announced from now on; reports it at most every `spacingMs` milliseconds. */
  constructor(
    type: RecordType<unknown>,
    { store, events, clock }: {
      readonly store: RecordStore & IdSearch;
      readonly events: Events;
      readonly clock: Clock;
    },
    spacingMs: number,
  ) {
    this.#clock = clock;
    this.#spacingMs = spacingMs;
    const reads = recordReads(type, store);
    const [newest, list, find] = [
      new ReadCache(reads.newest),
      new ReadCache(reads.list),
      new ReadCache(reads.find),
    ];
    this.#caches = [newest, list, find];
    this.reads = {
      newest: (query) => newest.read(query),
      list: (query) => list.read(query),
      find: (id) => find.read(id),
    };
    events.on("recordsChanged", ({ record, id }) => {
      if (record !== type.name && record !== type.shows) return;
      this.#announced.add(record === type.name ? id : undefined);
      if (this.#followers.size > 0) this.#reportSoon();
    });
  }

  /** Number of the last batch. */
  get last(): number {
    return this.#last;
  }

  /** The changes after a batch; `undefined` if they are no longer known. */
  changedAfter(batch: number): Changed | undefined {
    if (batch < this.#forgotten || batch > this.#last) return undefined;
    const ids = [...this.#batches].flatMap(([id, changedIn]) => changedIn > batch ? [id] : []);
    return ids.length === 0 ? "quiet" : new Set(ids);
  }

  /** Follows the changes from now on. */
  follow(): Follower {
    if (this.#followers.size === 0) this.#reportNow();
    const signal = new ChangeSignal();
    this.#followers.add(signal);
    return new Follower(this, this.#clock, {
      signal,
      [Symbol.dispose]: () => {
        this.#followers.delete(signal);
        if (this.#followers.size === 0) this.#cancelReport();
      },
    });
  }

  #reportSoon(): void {
    if (this.#report !== undefined) return;
    const earlyMs = this.#reportedAt + this.#spacingMs - this.#clock.monotonicMs();
    this.#report = this.#clock.after(Math.max(0, earlyMs), () => this.#reportNow());
  }

  #cancelReport(): void {
    this.#report?.[Symbol.dispose]();
    this.#report = undefined;
  }

  #reportNow(): void {
    this.#cancelReport();
    const changed = this.#announced.take();
    if (changed === "quiet") return;
    // a batch that nobody follows holds back no later one
    if (this.#followers.size > 0) this.#reportedAt = this.#clock.monotonicMs();
    // reads that are under way may have missed these changes
    for (const cache of this.#caches) cache.clear();
    this.#remember(changed, ++this.#last);
    for (const signal of this.#followers) signal.send();
  }

  #remember(changed: ReadonlySet<string> | "any", batch: number): void {
    if (changed === "any") {
      this.#batches.clear();
      this.#forgotten = batch;
      return;
    }
    for (const id of changed) {
      this.#batches.delete(id);
      this.#batches.set(id, batch);
    }
    for (const [id, oldest] of this.#batches) {
      if (this.#batches.size <= MAX_IDS) break;
      this.#batches.delete(id);
      this.#forgotten = oldest;
    }
  }
}

/** One stream that follows a {@linkcode RecordFeed}. */
export class Follower implements ChangeSource {
  readonly #feed: RecordFeed;
  readonly #clock: Clock;
  readonly #subscription: Disposable & { readonly signal: ChangeSignal };
  #heard: number;

  constructor(
    feed: RecordFeed,
    clock: Clock,
    subscription: Disposable & { readonly signal: ChangeSignal },
  ) {
    this.#feed = feed;
    this.#clock = clock;
    this.#subscription = subscription;
    this.#heard = feed.last;
  }

  /** The last batch that {@linkcode next} has reported. */
  get heard(): number {
    return this.#heard;
  }

  /** Continues after an earlier batch; returns whether the changes since then are known. */
  goBackTo(batch: number): boolean {
    if (this.#feed.changedAfter(batch) === undefined) return false;
    this.#heard = batch;
    return true;
  }

  async next(quietMs: number, signal: AbortSignal): Promise<Changed> {
    if (this.#heard === this.#feed.last) {
      await this.#subscription.signal.wait(quietMs, this.#clock, signal);
    }
    const changed = this.#feed.changedAfter(this.#heard) ?? "any";
    this.#heard = this.#feed.last;
    return changed;
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }
}

/** Reads that are under way: a second read of the same query waits for the first one. */
class ReadCache<Query, Answer> {
  readonly #read: (query: Query) => Promise<Answer>;
  readonly #ongoing = new Map<string, Promise<Answer>>();

  constructor(read: (query: Query) => Promise<Answer>) {
    this.#read = read;
  }

  read(query: Query): Promise<Answer> {
    const key = JSON.stringify(query);
    const ongoing = this.#ongoing.get(key);
    if (ongoing !== undefined) return ongoing;
    const started = this.#read(query);
    const forget = () => {
      if (this.#ongoing.get(key) === started) this.#ongoing.delete(key);
    };
    this.#ongoing.set(key, started);
    started.then(forget, forget);
    return started;
  }

  /** Forgets the reads under way, so that later reads do not share them. */
  clear(): void {
    this.#ongoing.clear();
  }
}
