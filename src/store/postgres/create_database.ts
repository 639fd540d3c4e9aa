/**
 * Makes the schema of a database that daemons are to share, with its first resources, or finds it
 * made by another one.
 *
 * @module
 */

import type { WallClock } from "../../base/clock.ts";
import type { Resource } from "../../resources/resource.ts";
import { checkServer } from "./database/check_server.ts";
import { Connections, type ConnectOptions } from "./database/connections.ts";
import { migrate, readAbout } from "./database/migrate.ts";
import { JobQueue } from "./jobs/job_queue.ts";
import { refuseTakenName } from "./nodes/node_rows.ts";
import { changeResources, loadResources } from "./resources/resource_rows.ts";

/** A database to be shared. */
export interface NewDatabase extends Omit<ConnectOptions, "max"> {
  readonly clock: WallClock;
  /** Id of the key with which secrets are sealed, which has to be that of every daemon. */
  readonly keyId: string;
  /** Name of the node for which it is made. */
  readonly name: string;
  /** Stored where it has none yet. */
  readonly resources: readonly Resource[];
  /** Called when a migration begins. */
  readonly onNote?: ((text: string) => void) | undefined;
}

/**
 * Id of the key with which secrets in a database are sealed; empty where it has none yet.
 *
 * @throws {AppError} `refused` when it cannot be used or has another node of this name, `overloaded`
 * when it cannot be reached.
 */
export async function findKeyId(
  { clock, name, ...to }: Omit<NewDatabase, "keyId" | "resources" | "onNote">,
): Promise<string> {
  await using connections = new Connections({ ...to, max: 1 });
  await checkServer(connections, clock);
  return await connections.use(async (db) => {
    const { version, key } = await readAbout(db);
    if (version > 0) await refuseTakenName(db, name);
    return key;
  });
}

/**
 * Makes the parts of it that do not exist yet; `false` when another daemon had made it.
 *
 * @throws {AppError} `refused` when it cannot be used, `overloaded` when it cannot be reached.
 */
export async function createSharedDatabase(
  { clock, keyId, name, resources, onNote, ...to }: NewDatabase,
): Promise<boolean> {
  await using connections = new Connections({ ...to, max: 4 });
  await checkServer(connections, clock);
  if (await migrate(connections, { keyId, onNote })) await JobQueue.install(connections);
  return await connections.transaction(async (db) => {
    await refuseTakenName(db, name);
    if ((await loadResources(db)).length > 0) return false;
    await changeResources(db, resources.map((resource) => ({ op: "put", resource })));
    return true;
  });
}
