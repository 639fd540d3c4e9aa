/**
 * What has changed lately, in the order in which it was told: who was away asks what it has missed.
 *
 * @module
 */

import { type Changed, MAX_IDS } from "./changes.ts";

/** Changes that were told together. */
interface Told {
  readonly place: number;
  readonly ids: ReadonlySet<string>;
}

/** The last changes of one type of record; few enough that reading them is cheaper than a list. */
export class RecentChanges {
  #place = 0;
  /** Places before this one are too long ago. */
  #since = 0;
  #told: readonly Told[] = [];

  /** How much was told so far. */
  get place(): number {
    return this.#place;
  }

  /** Remembers what is told now. */
  add(changed: Changed): void {
    if (changed === "quiet") return;
    this.#place++;
    this.#told = changed === "any" ? [] : [...this.#told, { place: this.#place, ids: changed }];
    let size = this.#told.reduce((sum, { ids }) => sum + ids.size, 0);
    while (size > MAX_IDS) {
      size -= this.#told[0]?.ids.size ?? 0;
      this.#told = this.#told.slice(1);
    }
    this.#since = (this.#told[0]?.place ?? this.#place + 1) - 1;
  }

  /**
   * The records that have changed since that place; `undefined` where it is not known of each
   * which it was.
   */
  after(place: number): ReadonlySet<string> | undefined {
    if (place < this.#since || place > this.#place) return undefined;
    return new Set(this.#told.flatMap((one) => one.place > place ? [...one.ids] : []));
  }
}
