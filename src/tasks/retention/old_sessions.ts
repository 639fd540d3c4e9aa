/**
 * Retention of sessions with agents: those that no step has used for a while go, and then the home
 * directories that no session has. So it makes no difference at which point a daemon was killed, or
 * whether its database is one from before.
 *
 * @module
 */

import { messageOf } from "../../base/errors.ts";
import type { RetentionHost } from "./retention_host.ts";

/** Sessions per query, and the pause after each. */
const PAGE_SIZE = 50;
const PAUSE_MS = 12;

/** Removes the sessions that no step has used since `before`; returns how many. */
export async function removeOldSessions(
  host: RetentionHost,
  before: number,
  signal: AbortSignal,
): Promise<number> {
  const { store, clock } = host;
  let removed = 0;
  while (!signal.aborted) {
    const { length } = await store.pruneSessions(before, PAGE_SIZE);
    removed += length;
    if (length < PAGE_SIZE) break;
    await clock.pause(PAUSE_MS, signal);
  }
  await removeLeftHomes(host, signal);
  return removed;
}

/** Removes the home directories whose sessions are gone. The session comes first, and its id never again. */
async function removeLeftHomes(
  { store, clock, log, sessionHomes }: RetentionHost,
  signal: AbortSignal,
): Promise<void> {
  const ids = await sessionHomes.ids();
  for (let at = 0; at < ids.length && !signal.aborted; at += PAGE_SIZE) {
    const some = ids.slice(at, at + PAGE_SIZE);
    const stored = new Set((await store.findSessions(some)).map(({ id }) => id));
    for (const id of some) {
      if (stored.has(id) || signal.aborted) continue;
      await sessionHomes.remove(id, signal).catch((error) => {
        if (signal.aborted) return;
        log.warn("the home of a session that is gone could not be removed", {
          session: id,
          error: messageOf(error),
        });
      });
    }
    await clock.pause(PAUSE_MS, signal);
  }
}
