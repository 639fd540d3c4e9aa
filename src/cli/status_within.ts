/**
 * Asks a daemon for its status, within a time limit.
 *
 * @module
 */

import type { Client } from "../api/client.ts";
import type { Status } from "../api/status_operations.ts";
import { systemClock } from "../base/clock.ts";

/**
 * The status of a daemon; `undefined` if it does not answer within `withinMs`.
 *
 * @throws {AppError} as the call does: `unreachable` where no daemon runs.
 */
export async function statusWithin(client: Client, withinMs: number): Promise<Status | undefined> {
  const late = new AbortController();
  using _timer = systemClock.after(withinMs, () => late.abort());
  try {
    return await client.call("status", {}, late.signal);
  } catch (error) {
    if (late.signal.aborted) return undefined;
    throw error;
  }
}
