/**
 * Tells the rooms of the daemon what has happened, without their knowing each other. Publishing is
 * a plain loop over the listeners: nothing is queued, and nothing is allocated.
 *
 * @module
 */

import type { Log } from "./log.ts";

/** Hears of one kind of event; has to return soon, because the publisher waits for it. */
export type Listener<Event> = (event: Event) => void;

/** Events by name, each with what is told of it. */
export class EventHub<Events extends object> {
  /** Replaced as a whole, so that a listener may come or go while an event is being published. */
  readonly #listeners = new Map<keyof Events, readonly Listener<never>[]>();
  readonly #log: Pick<Log, "error">;

  /** Errors of listeners go to `log`. */
  constructor(log: Pick<Log, "error">) {
    this.#log = log;
  }

  /** Calls `listener` for each event of this name, until the subscription is disposed. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): Disposable {
    const own: Listener<Events[Name]> = (event) => listener(event); // the same one may come twice
    this.#listeners.set(name, [...this.#listeners.get(name) ?? [], own]);
    return {
      [Symbol.dispose]: () => {
        const left = this.#listeners.get(name)?.filter((one) => one !== own) ?? [];
        this.#listeners.set(name, left);
      },
    };
  }

  /** Calls the listeners in the order in which they came; never throws. */
  publish<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    const listeners = this.#listeners.get(name) as readonly Listener<Events[Name]>[] | undefined;
    if (listeners === undefined) return;
    for (const listener of listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#log.error("a listener failed", { event: String(name), error });
      }
    }
  }
}
