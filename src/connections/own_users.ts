/**
 * The users to whom the tokens of Connections belong, by which svc knows its own comments and events.
 * Kept in the store, and in memory for callers that cannot wait.
 *
 * @module
 */

import type { WallClock } from "../base/clock.ts";
import type { ConnectionKey } from "../store/connection_records.ts";
import type { ConnectionStore } from "../store/connection_store.ts";
import type { Connection } from "./find_connection.ts";

/** The user of each Connection, as far as it is known. */
export class OwnUsers {
  readonly #store: ConnectionStore;
  readonly #clock: WallClock;
  readonly #ids = new Map<string, string>();
  /** The tokens with which this run of the daemon has asked. */
  readonly #tokens = new Map<string, string>();

  /** Empty before {@linkcode OwnUsers.load}. */
  constructor(store: ConnectionStore, clock: WallClock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Reads what earlier runs of the daemon have learnt. */
  async load(): Promise<void> {
    for (const state of await this.#store.listConnectionStates()) {
      if (state.userId !== undefined) this.#ids.set(keyOf(state), state.userId);
    }
  }

  /** Whether a user belongs to any Connection. */
  isOwn(id: string): boolean {
    for (const own of this.#ids.values()) if (own === id) return true;
    return false;
  }

  /** The platform's id of the user; `undefined` while it is not known. */
  find(connection: Connection): string | undefined {
    return this.#ids.get(keyOf(connection));
  }

  /** Whether this run of the daemon has found the user with this token: another may be another user's. */
  isOfToken(connection: Connection, token: string): boolean {
    return this.#tokens.get(keyOf(connection)) === token;
  }

  /** Remembers the user of a Connection, and the token with which it was found. */
  async learn(
    connection: Connection,
    { userId, login }: { readonly userId: string; readonly login: string },
    token?: string,
  ): Promise<void> {
    this.#ids.set(keyOf(connection), userId);
    if (token !== undefined) this.#tokens.set(keyOf(connection), token);
    const { project, name, createdAt } = connection;
    const key: ConnectionKey = { project, name, createdAt };
    await this.#store.noteConnection(key, { userId, login }, this.#clock.now());
  }
}

/** A Connection that was deleted and made again under its name may have another token. */
function keyOf({ project, name, createdAt }: ConnectionKey): string {
  return `${project}/${name}/${createdAt}`;
}
