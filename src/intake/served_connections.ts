/**
 * Which Connections a source serves no longer, and which from now on.
 *
 * @module
 */

import type { Connection } from "../connections/find_connection.ts";
import type { Catalog } from "../resources/catalog.ts";

/** The steps from the served Connections to those of the catalog; a changed one is in both lists. */
export interface ServedChanges<Served> {
  readonly gone: readonly (readonly [identity: string, served: Served])[];
  readonly added: readonly (readonly [identity: string, connection: Connection])[];
}

/**
 * Compares the served Connections with the catalog.
 *
 * @param identityOf The identity of a Connection: another one means that it is served anew.
 * `undefined` for a Connection that is not to be served.
 */
export function compareServed<Served>(
  served: ReadonlyMap<string, Served>,
  catalog: Catalog,
  identityOf: (connection: Connection) => string | undefined,
): ServedChanges<Served> {
  const wanted = new Map<string, Connection>();
  for (const connection of catalog.list("Connection") as Connection[]) {
    const identity = identityOf(connection);
    if (identity !== undefined) wanted.set(identity, connection);
  }
  return {
    gone: [...served].filter(([identity]) => !wanted.has(identity)),
    added: [...wanted].filter(([identity]) => !served.has(identity)),
  };
}
