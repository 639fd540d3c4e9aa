/**
 * By which version of the resources each daemon decides. Who has changed them waits until all decide
 * by the change, so that it holds everywhere; what was decided without it is refused in any case.
 *
 * @module
 */

import type { Clock } from "../../../base/clock.ts";
import type { Connections, Session } from "../database/connections.ts";

/** The method that waits in no transaction, so that it holds no connection meanwhile. */
export type Waiting = "awaitAdoption";

/** How long a change waits for daemons that live and say nothing: theirs is stored no more. */
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
