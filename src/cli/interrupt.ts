/**
 * Runs commands that wait. Ctrl-C ends them in order, with the exit code that shells expect.
 *
 * @module
 */

import type { Io } from "./io.ts";

/** Exit code of a command that was interrupted: 128 and the number of SIGINT. */
export const INTERRUPTED = 130;

/** Runs `work`, whose signal aborts on SIGINT and SIGTERM; gives its exit code, or 130. */
export async function interruptible(
  io: Io,
  work: (signal: AbortSignal) => Promise<number | void>,
): Promise<number> {
  const stop = new AbortController();
  using _signals = io.onStop(() => stop.abort());
  try {
    const code = await work(stop.signal) ?? 0;
    return stop.signal.aborted ? INTERRUPTED : code;
  } catch (error) {
    if (stop.signal.aborted) return INTERRUPTED;
    throw error;
  }
}
