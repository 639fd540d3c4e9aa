/**
 * A look at the database of a data directory past the program: a file, or a PostgreSQL.
 *
 * @module
 */

import { dataDirAt } from "../../src/base/data_dir.ts";
import { findSharedDatabase } from "../../src/storage/shared_database.ts";
import { Connections } from "../../src/store/postgres/database/connections.ts";
import { rowsOf } from "./sqlite_file.ts";

/** Rows of a query that both understand. */
export async function rowsIn(dataDir: string, sql: string): Promise<Record<string, unknown>[]> {
  const dir = dataDirAt(dataDir);
  const shared = await findSharedDatabase(dir);
  if (shared === undefined) return rowsOf(dir.database, sql);
  const owner = { node: "tests", run: "tests" };
  await using connections = new Connections({ url: shared.url, owner, max: 1 });
  return await connections.use((db) => db.all(sql));
}
