/**
 * A look at a database that daemons share: the server, the schema, and what is applied. It only
 * reads, while daemons work on.
 *
 * @module
 */

import type { WallClock } from "../../base/clock.ts";
import type { Glance } from "../maintenance.ts";
import { number } from "../sql/columns.ts";
import { checkServer } from "./database/check_server.ts";
import { Connections, type ConnectOptions } from "./database/connections.ts";
import { nameOf } from "./database/database_url.ts";
import { readAbout } from "./database/migrate.ts";
import { SCHEMA_VERSION } from "./database/migrations.ts";
import { loadResources } from "./resources/resource_rows.ts";

/** Facts of a shared database. */
export interface SharedGlance extends Glance {
  /** The database for people: its name and its server. */
  readonly database: string;
}

/**
 * Looks at it.
 *
 * @throws {AppError} `refused` or `overloaded` when the server cannot be used or connected to.
 */
export async function glanceAtShared(
  to: Omit<ConnectOptions, "max">,
  clock: WallClock,
): Promise<SharedGlance> {
  await using connections = new Connections({ ...to, max: 2 });
  const warning = await checkServer(connections, clock);
  return await connections.use(async (db) => {
    const { version } = await readAbout(db);
    const size = await db.get("SELECT pg_database_size(current_database()) AS bytes");
    const facts = {
      database: nameOf(connections.address),
      bytes: number(size ?? {}, "bytes"),
      schemaVersion: version,
      faults: [],
      warnings: warning === undefined ? [] : [warning],
      resources: [],
    };
    if (version === 0) return { ...facts, faults: ["It is not a database of svc"] };
    // an older one is migrated by the next start, and its tables need not be these
    if (version !== SCHEMA_VERSION) return facts;
    const newest = (await db.get(
      `SELECT greatest((SELECT created_at FROM tasks ORDER BY id DESC LIMIT 1),
         (SELECT received_at FROM deliveries ORDER BY id DESC LIMIT 1))::float8 AS at`,
    ))?.["at"];
    const resources = await loadResources(db);
    return { ...facts, resources, ...(typeof newest === "number" ? { newestAt: newest } : {}) };
  });
}
