/**
 * Events between the parts of the daemon, which do not have to know each other. Publishing is a loop
 * over the listeners, without a queue and without allocations.
 *
 * @module
 */

import type { Log } from "./log.ts";

/** A function that is called for each event of one name; it has to return soon, as the publisher waits. */
export type Listener<Event> = (event: Event) => void;

/** Publishes events; `Events` maps the name of each event to its content. */
export class EventHub<Events extends object> {
  /** Each list is replaced, never changed, so that listeners may come and go during an event. */
  readonly #listeners = new Map<keyof Events, readonly Listener<never>[]>();
  readonly #log: Pick<Log, "error">;

  /** Errors of listeners go to `log`. */
  constructor(log: Pick<Log, "error">) {
    this.#log = log;
  }

  /** Calls `listener` for each event of this name, until the subscription is disposed. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): Disposable {
    const own: Listener<Events[Name]> = (event) => listener(event); // the same listener may subscribe twice
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
