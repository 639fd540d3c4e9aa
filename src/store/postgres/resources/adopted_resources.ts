/**
 * The version of the resources by which each daemon decides. A change waits until all daemons
 * decide by it, so that it holds everywhere. What a daemon decides by an older version is refused.
 *
 * @module
 */

import type { Clock } from "../../../base/clock.ts";
import type { Connections, Session } from "../database/connections.ts";

/** The method that waits in no transaction, so that it holds no connection meanwhile. */
export type WaitMethod = "awaitAdoption";

/** Longest wait for a daemon that lives and reports no version: its older decisions are refused. */
const PATIENCE_MS = 5000;
const LOOK_EVERY_MS = 10;

/** Says that this daemon decides by a version from now on. */
export async function adoptResources(db: Session, version: number): Promise<void> {
  const { node, run } = db.owner;
  await db.run(
    "UPDATE nodes SET resource_version = ? WHERE id = ? AND run = ?",
    version,
    node,
    run,
  );
}

/** Resolves when every other daemon that lives decides by this version, or takes too long to. */
export async function untilAdopted(
  connections: Connections,
  version: number,
  clock: Clock,
): Promise<void> {
  const until = clock.monotonicMs() + PATIENCE_MS;
  while (await connections.use((db) => isAwaited(db, version))) {
    if (clock.monotonicMs() >= until) return;
    await clock.pause(LOOK_EVERY_MS);
  }
}

async function isAwaited(db: Session, version: number): Promise<boolean> {
  const row = await db.get(
    "SELECT 1 FROM nodes WHERE id <> ? AND lease_until > now() AND resource_version < ? LIMIT 1",
    db.owner.node,
    version,
  );
  return row !== undefined;
}
