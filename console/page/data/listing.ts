/**
 * What is held of a list of records: the newest, what has changed since, and what was loaded from
 * further back. Pure.
 *
 * @module
 */

/** Records held, unless older ones were asked for: a list that is looked at all day stays as long. */
export const MOST_HELD = 5000;

/** A record; its id says when it was made. */
interface Identified {
  readonly id: string;
}

/** One list. */
export class Listing<Item extends Identified> {
  readonly #items = new Map<string, Item>();
  #most = MOST_HELD;
  // Not the oldest item: one that has changed comes in however old it is, and others are between.
  #downTo: string | undefined;
  #hasMore = false;

  /** Newest first. */
  get items(): readonly Item[] {
    return [...this.#items.values()].sort((a, b) => a.id < b.id ? 1 : -1);
  }

  /** Whether there may be older ones. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** Id down to which nothing is missing; `undefined` before anything is held. */
  get downTo(): string | undefined {
    return this.#downTo;
  }

  /** Takes the newest ones, oldest first, in the place of all that was held. */
  restart(found: readonly Item[], hasMore: boolean): void {
    this.#items.clear();
    this.#hasMore = hasMore;
    this.#downTo = found[0]?.id;
    this.change(found, []);
  }

  /** Takes what is new or has changed, and lets go of what was deleted. */
  change(found: readonly Item[], deleted: readonly string[]): void {
    for (const item of found) this.#items.set(item.id, item);
    for (const id of deleted) this.#items.delete(id);
    this.#letGo();
  }

  /** Takes older ones; `moreBefore` is where the next ones begin, if there are some. */
  extend(found: readonly Item[], moreBefore: string | undefined): void {
    this.#most += found.length;
    this.#hasMore = moreBefore !== undefined;
    this.#downTo = moreBefore;
    this.change(found, []);
  }

  /** Lets go of the oldest; they can be loaded again. */
  #letGo(): void {
    if (this.#items.size <= this.#most) return;
    const ids = [...this.#items.keys()].sort().reverse();
    for (const id of ids.slice(this.#most)) this.#items.delete(id);
    const oldest = ids[this.#most - 1] ?? "";
    if (this.#downTo === undefined || this.#downTo < oldest) this.#downTo = oldest;
    this.#hasMore = true;
  }
}
