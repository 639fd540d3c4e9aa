/**
 * Tells one cause once in a while: what happens again meanwhile is counted, and told as a number
 * when the time is over.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Notice } from "./notice.ts";

/** What was counted of one cause. */
export interface CountedNotices {
  /** The last of them. */
  readonly notice: Notice;
  readonly count: number;
  /** Milliseconds since the epoch when the cause was told last. */
  readonly since: number;
}

interface Window {
  readonly since: number;
  /** Names what was told at its beginning, so that the same is told again when it is asked again. */
  readonly first: string;
  last: { readonly id: string; readonly notice: Notice } | undefined;
  count: number;
  timer: Disposable;
}

/** Most causes that are remembered: with more of them, each is told. */
const MAX_CAUSES = 10_000;

/** Decides what is told now. */
export class Throttle {
  readonly #clock: Clock;
  readonly #onOver: (name: string, counted: CountedNotices) => void;
  readonly #windows = new Map<string, Window>();
  #isOver = false;

  /** Calls `onOver` for what was counted, when the time of a cause is over. */
  constructor(clock: Clock, onOver: (name: string, counted: CountedNotices) => void) {
    this.#clock = clock;
    this.#onOver = onOver;
  }

  /**
   * Whether to tell a notice now; otherwise it is counted.
   *
   * @param name Names the cause for one Notification.
   * @param id Names what happened: the same may be asked of several times.
   */
  tellsNow(name: string, id: string, notice: Notice, everyMs: number): boolean {
    if (everyMs <= 0 || this.#isOver) return true;
    const open = this.#windows.get(name);
    if (open === undefined) {
      if (this.#windows.size < MAX_CAUSES) this.#open(name, id, everyMs);
      return true;
    }
    if (open.first === id) return true;
    if (open.last?.id !== id) open.count++;
    open.last = { id, notice };
    return false;
  }

  /** Forgets a cause that is over; what was counted of it. */
  end(name: string): CountedNotices | undefined {
    const open = this.#windows.get(name);
    if (open === undefined) return undefined;
    open.timer[Symbol.dispose]();
    this.#windows.delete(name);
    return countedOf(open);
  }

  /** Ends every cause for good; what was counted of each. */
  close(): (readonly [name: string, counted: CountedNotices])[] {
    this.#isOver = true;
    return [...this.#windows.keys()].flatMap((name) => {
      const counted = this.end(name);
      return counted === undefined ? [] : [[name, counted] as const];
    });
  }

  #open(name: string, first: string, everyMs: number): void {
    const timer = this.#clock.after(everyMs, () => {
      const counted = this.end(name);
      if (counted === undefined) return;
      this.#open(name, "", everyMs); // that it was told now counts, too
      this.#onOver(name, counted);
    });
    this.#windows.set(name, { since: this.#clock.now(), first, last: undefined, count: 0, timer });
  }
}

function countedOf({ last, count, since }: Window): CountedNotices | undefined {
  return last === undefined ? undefined : { notice: last.notice, count, since };
}
