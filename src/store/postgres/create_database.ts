/**
 * Makes the schema of a database that daemons are to share, with its first resources, or finds it
 * made by another one.
 *
 * @module
 */

import type { Resource } from "../../resources/resource.ts";
import { Connections, type Owner } from "./database/connections.ts";
import { migrate } from "./database/migrate.ts";
import { changeResources, loadResources } from "./resources/resource_rows.ts";

/** A database to be shared. */
export interface NewDatabase {
  /** `postgres://…`. */
  readonly url: string;
  readonly owner: Owner;
  /** Stored where it has none yet. */
  readonly resources: readonly Resource[];
}

/**
 * Makes whatever of it is not there yet; `false` when another daemon had made it.
 *
 * @throws {AppError} `refused` when it cannot be used, `overloaded` when it cannot be reached.
 */
export async function createSharedDatabase(
  { url, owner, resources }: NewDatabase,
): Promise<boolean> {
  await using connections = new Connections({ url, owner, max: 1 });
  await migrate(connections);
  return await connections.transaction(async (db) => {
    if ((await loadResources(db)).length > 0) return false;
    await changeResources(db, resources.map((resource) => ({ op: "put", resource })));
    return true;
  });
}
