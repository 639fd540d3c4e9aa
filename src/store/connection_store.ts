/**
 * The storage interface for the state of Connections.
 *
 * @module
 */

import type { ConnectionKey, ConnectionNews, ConnectionState } from "./connection_records.ts";

/** Keeps the state of Connections, over restarts too. */
export interface ConnectionStore {
  /** The states of all Connections, with those of deleted ones. */
  listConnectionStates(): Promise<ConnectionState[]>;
  /** Changes the state, and returns it; `now` is the start of a new fault. */
  noteConnection(key: ConnectionKey, news: ConnectionNews, now: number): Promise<ConnectionState>;
}
