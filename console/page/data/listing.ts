/**
 * The part of a list of records that the page holds: the newest records with their changes, and
 * older records that were loaded. Pure.
 *
 * @module
 */

/** Most records of a list that loaded no older ones: an open list does not grow all day. */
export const MOST_HELD = 5000;

/** A record; ids sort by the time of the record. */
interface Identified {
  readonly id: string;
}

/** The records of a list that the page holds, by id. */
export class Listing<Item extends Identified> {
  readonly #items = new Map<string, Item>();
  #most = MOST_HELD;
  // Not the id of the oldest item: a changed record is added at any age, and records between it and
  // the others may be missing.
  #downTo: string | undefined;
  #hasMore = false;

  /** Newest first. */
  get items(): readonly Item[] {
    return [...this.#items.values()].sort((a, b) => a.id < b.id ? 1 : -1);
  }

  /** Whether there may be older records. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** Id down to which nothing is missing; `undefined` before anything is held. */
  get downTo(): string | undefined {
    return this.#downTo;
  }

  /** Replaces all records by the newest ones, given oldest first. */
  restart(found: readonly Item[], hasMore: boolean): void {
    this.#items.clear();
    this.#hasMore = hasMore;
    this.#downTo = found[0]?.id;
    this.change(found, []);
  }

  /** Adds new and changed records, and removes deleted ones. */
  change(found: readonly Item[], deleted: readonly string[]): void {
    for (const item of found) this.#items.set(item.id, item);
    for (const id of deleted) this.#items.delete(id);
    this.#letGo();
  }

  /** Adds older records; records before the id `moreBefore`, if given, can still be loaded. */
  extend(found: readonly Item[], moreBefore: string | undefined): void {
    this.#most += found.length;
    this.#hasMore = moreBefore !== undefined;
    this.#downTo = moreBefore;
    this.change(found, []);
  }

  /** Drops the oldest records, which can be loaded again. */
  #letGo(): void {
    if (this.#items.size <= this.#most) return;
    const ids = [...this.#items.keys()].sort().reverse();
    for (const id of ids.slice(this.#most)) this.#items.delete(id);
    const oldest = ids[this.#most - 1] ?? "";
    if (this.#downTo === undefined || this.#downTo < oldest) this.#downTo = oldest;
    this.#hasMore = true;
  }
}
