/**
 * Reads and changes the database of a data directory past the program, in a file or in PostgreSQL.
 *
 * @module
 */

import { dataDirAt } from "../../src/base/data_dir.ts";
import { findSharedDatabase } from "../../src/storage/shared_database.ts";
import { Connections, type Session } from "../../src/store/postgres/database/connections.ts";
import { changeFile, rowsOf } from "./sqlite_file.ts";

/** Whether the database of a data directory is a PostgreSQL. */
export async function isShared(dataDir: string): Promise<boolean> {
  return await findSharedDatabase(dataDirAt(dataDir)) !== undefined;
}

/** Rows of a query that SQLite and PostgreSQL both understand. */
export async function rowsIn(dataDir: string, sql: string): Promise<Record<string, unknown>[]> {
  if (!await isShared(dataDir)) return rowsOf(dataDirAt(dataDir).database, sql);
  return await inShared(dataDir, (db) => db.all(sql));
}

/** Runs a statement that SQLite and PostgreSQL both understand. */
export async function changeIn(dataDir: string, sql: string): Promise<void> {
  if (!await isShared(dataDir)) return changeFile(dataDirAt(dataDir).database, sql);
  await inShared(dataDir, (db) => db.exec(sql));
}

async function inShared<T>(dataDir: string, work: (db: Session) => Promise<T>): Promise<T> {
  const { url = "" } = await findSharedDatabase(dataDirAt(dataDir)) ?? {};
  await using connections = new Connections({
    url,
    owner: { node: "tests", run: "tests" },
    max: 1,
  });
  return await connections.use(work);
}
