/**
 * Who the token of a Connection belongs to, so that its own comments and events are known: kept in
 * the store, and in memory for those who cannot wait.
 *
 * @module
 */

import type { WallClock } from "../base/clock.ts";
import type { ConnectionKey } from "../store/connection_records.ts";
import type { ConnectionStore } from "../store/connection_store.ts";
import type { Connection } from "./find_connection.ts";

/** Knows the users of Connections. */
export class OwnUsers {
  readonly #store: ConnectionStore;
  readonly #clock: WallClock;
  readonly #ids = new Map<string, string>();

  /** Knows nobody before {@linkcode OwnUsers.load}. */
  constructor(store: ConnectionStore, clock: WallClock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Reads what earlier runs of the daemon have learnt. */
  async load(): Promise<void> {
    for (const state of await this.#store.listConnectionStates()) {
      if (state.userId !== undefined) this.#ids.set(nameOf(state), state.userId);
    }
  }

  /** Whether a user is that of any Connection. */
  isOwn(id: string): boolean {
    for (const own of this.#ids.values()) if (own === id) return true;
    return false;
  }

  /** Id of the user, as the platform counts them; `undefined` while nobody was told. */
  find(connection: Connection): string | undefined {
    return this.#ids.get(nameOf(connection));
  }

  /** Remembers the user of a Connection. */
  async learn(
    connection: Connection,
    { userId, login }: { readonly userId: string; readonly login: string },
  ): Promise<void> {
    this.#ids.set(nameOf(connection), userId);
    const { project, name, createdAt } = connection;
    const key: ConnectionKey = { project, name, createdAt };
    await this.#store.noteConnection(key, { userId, login }, this.#clock.now());
  }
}

/** A Connection that was made anew under its name may have another token. */
function nameOf({ project, name, createdAt }: ConnectionKey): string {
  return `${project}/${name}/${createdAt}`;
}
