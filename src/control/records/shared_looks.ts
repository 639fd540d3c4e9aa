/**
 * Looks at records that all who watch them share: they hear of changes at the same moment, and what
 * several then ask of the store is asked once.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { RecordName } from "../../resources/record_names.ts";
import type { Events } from "../../store/events.ts";
import type { IdSearch } from "../../store/id_search.ts";
import { type Changed, Changes } from "./changes.ts";
import { RecentChanges } from "./recent_changes.ts";
import type { RecordStore } from "./record_type.ts";

/** What {@linkcode SharedLooks} needs. */
export interface LooksHost {
  readonly store: RecordStore & IdSearch;
  readonly events: Events;
  readonly clock: Clock;
}

/** How long to wait for an announcement at once; a wait that was in vain begins again. */
const PATIENCE_MS = 3_600_000;

/** The looks of everyone that watches records of one daemon. */
export class SharedLooks {
  /** Different in each daemon and each of its runs. */
  readonly id: string = crypto.randomUUID();
  /**
   * The store, of which equal reads at the same time are one read. Only for those that wait for
   * {@linkcode changesOf}: the answer may be as old as what they were told last.
   */
  readonly store: RecordStore & IdSearch;
  readonly #host: LooksHost;
  readonly #spacingMs: number;
  readonly #reads = new Map<string, Promise<unknown>>();
  readonly #listening = new Map<RecordName, Listening>();

  /** Tells of changes at most every `spacingMs` milliseconds. */
  constructor(host: LooksHost, spacingMs: number) {
    this.#host = host;
    this.#spacingMs = spacingMs;
    this.store = this.#sharing(host.store);
  }

  /** Changes of one type of record from now on; to be disposed. */
  changesOf(record: RecordName): Changes {
    const listening = this.#listeningTo(record);
    const { heard, recent } = listening;
    if (heard.size === 0) this.#begin(listening);
    const changes = new Changes({ spacingMs: 0, clock: this.#host.clock });
    changes.addAll("quiet", recent.place);
    changes.take();
    heard.add(changes);
    changes.subscribe({
      [Symbol.dispose]: () => {
        heard.delete(changes);
        if (heard.size === 0) listening.stop.abort();
      },
    });
    return changes;
  }

  /**
   * The records that have changed between that place of their changes and what was told last;
   * `undefined` where it is not known of each which it was.
   */
  changedAfter(record: RecordName, place: number): ReadonlySet<string> | undefined {
    return this.#listeningTo(record).recent.after(place);
  }

  /** Listens from the first time on, so that who comes back hears what it has missed. */
  #listeningTo(record: RecordName): Listening {
    const known = this.#listening.get(record);
    if (known !== undefined) return known;
    const { events, clock } = this.#host;
    const listening: Listening = {
      changes: Changes.ofRecords({ events, record, spacingMs: this.#spacingMs, clock }),
      recent: new RecentChanges(),
      heard: new Set(),
      stop: new AbortController(),
      telling: Promise.resolve(),
    };
    this.#listening.set(record, listening);
    return listening;
  }

  #begin(listening: Listening): void {
    this.#tell(listening, listening.changes.take()); // nobody was there to hear of them
    const { signal } = listening.stop = new AbortController();
    listening.telling = listening.telling.then(() => this.#goOn(listening, signal));
  }

  async #goOn(listening: Listening, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#tell(listening, await listening.changes.next(PATIENCE_MS, signal));
    }
  }

  #tell({ recent, heard }: Listening, changed: Changed): void {
    this.#reads.clear(); // a read from before does not know of these changes
    recent.add(changed);
    for (const each of heard) each.addAll(changed, recent.place);
  }

  #sharing(store: RecordStore & IdSearch): RecordStore & IdSearch {
    return new Proxy(store, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function") return method;
        return (...args: readonly unknown[]) =>
          this.#once(`${String(name)} ${JSON.stringify(args)}`, () => method(...args));
      },
    });
  }

  #once(key: string, read: () => Promise<unknown>): Promise<unknown> {
    const reading = this.#reads.get(key);
    if (reading !== undefined) return reading;
    const started = read();
    const forget = () => {
      if (this.#reads.get(key) === started) this.#reads.delete(key);
    };
    this.#reads.set(key, started);
    started.then(forget, forget);
    return started;
  }
}

/** What is heard of one type of record, and by whom. */
interface Listening {
  readonly changes: Changes;
  readonly recent: RecentChanges;
  readonly heard: Set<Changes>;
  /** Ends the telling, when nobody is left. */
  stop: AbortController;
  /** Over when it has ended. */
  telling: Promise<void>;
}
