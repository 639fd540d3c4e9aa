/**
 * The storage interface for what the daemon learns of Connections.
 *
 * @module
 */

import type { ConnectionKey, ConnectionNews, ConnectionState } from "./connection_records.ts";

/** Keeps it, over restarts too. */
export interface ConnectionStore {
  /** Of every Connection of which something was noted, also of those that were deleted. */
  listConnectionStates(): Promise<ConnectionState[]>;
  /** Adds to what is known; `now` is when a new fault began. Gives what is known then. */
  noteConnection(key: ConnectionKey, news: ConnectionNews, now: number): Promise<ConnectionState>;
}
