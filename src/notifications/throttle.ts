/**
 * Limits the notices of one cause to one in a while. Repetitions meanwhile are counted, and reported
 * as a number when the time is over.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Notice } from "./notice.ts";

/** The repetitions of one cause. */
export interface CountedNotices {
  /** The last of them. */
  readonly notice: Notice;
  readonly count: number;
  /** Milliseconds since the epoch of the last report. */
  readonly since: number;
}

interface Window {
  readonly since: number;
  /** Id of the event that opened the window: it is reported again if it is asked about again. */
  readonly first: string;
  last: { readonly id: string; readonly notice: Notice } | undefined;
  count: number;
  timer: Disposable;
}

/** Most causes to remember; beyond them, every notice is reported. */
const MAX_CAUSES = 10_000;

/** Decides which notices are reported now. */
export class Throttle {
  readonly #clock: Clock;
  readonly #onOver: (name: string, counted: CountedNotices) => void;
  readonly #windows = new Map<string, Window>();
  #isOver = false;

  /** Calls `onOver` with the repetitions of a cause when its time is over. */
  constructor(clock: Clock, onOver: (name: string, counted: CountedNotices) => void) {
    this.#clock = clock;
    this.#onOver = onOver;
  }

  /**
   * Whether to report a notice now; otherwise it is counted, unless it lasts.
   *
   * @param name Names the cause for one Notification.
   * @param id Names the event, which may be asked about several times.
   */
  tellsNow(name: string, id: string, notice: Notice, everyMs: number): boolean {
    if (everyMs <= 0 || this.#isOver) return true;
    const open = this.#windows.get(name);
    if (open === undefined) {
      if (this.#windows.size < MAX_CAUSES) this.#open(name, id, everyMs);
      return true;
    }
    if (open.first === id) return true;
    if (notice.isLasting === true) return false;
    if (open.last?.id !== id) open.count++;
    open.last = { id, notice };
    return false;
  }

  /** Forgets a cause, and returns its repetitions. */
  end(name: string): CountedNotices | undefined {
    const open = this.#windows.get(name);
    if (open === undefined) return undefined;
    open.timer[Symbol.dispose]();
    this.#windows.delete(name);
    return countedOf(open);
  }

  /** Forgets every cause for good, and returns the repetitions of each. */
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
      this.#open(name, "", everyMs); // the report of the repetitions opens a window, too
      this.#onOver(name, counted);
    });
    this.#windows.set(name, { since: this.#clock.now(), first, last: undefined, count: 0, timer });
  }
}

function countedOf({ last, count, since }: Window): CountedNotices | undefined {
  return last === undefined ? undefined : { notice: last.notice, count, since };
}
