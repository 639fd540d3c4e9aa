/**
 * Measures what each trigger takes in a database that daemons share, a slice at a time.
 *
 * @module
 */

import type { Progress } from "../maintenance.ts";
import { number } from "../sql/columns.ts";
import { lastIdIn, SLICE_ROWS, UsageSum, usageTables } from "../sql/usage.ts";
import type { DatabaseUsage } from "../usage.ts";
import { connectFault } from "./database/connect_fault.ts";
import { Connections, type ConnectOptions } from "./database/connections.ts";
import { databaseSize } from "./database/database_size.ts";
import { nameOf } from "./database/database_url.ts";

/** The sizes of a shared database. */
export interface SharedUsage extends DatabaseUsage {
  /** The database for people: its name and its server. */
  readonly database: string;
}

/** As it is stored: compressed, and without reading what is stored apart. */
const sizeOf = (column: string) => `coalesce(pg_column_size(${column}), 0)`;

/**
 * Measures it; yields its progress.
 *
 * @throws {AppError} `refused` or `overloaded` when it cannot be connected to.
 */
export async function* measureShared(
  to: Omit<ConnectOptions, "max">,
): AsyncGenerator<Progress, SharedUsage, undefined> {
  await using connections = new Connections({ ...to, max: 1 });
  const size = await connections.use(databaseSize).catch((error) => {
    throw connectFault(error, connections.address);
  });
  const tables = usageTables(sizeOf, false);
  const counted = await connections.use((db) =>
    db.get(
      `SELECT sum(greatest(reltuples, 0))::float8 AS n FROM pg_class
       WHERE relnamespace = to_regnamespace('svc') AND relname = ANY(?)`,
      tables.map(({ name }) => name),
    )
  );
  const all = number(counted ?? {}, "n");
  const sum = new UsageSum();
  let done = 0;
  for (const { sql, usage } of tables) {
    for (let last: string | undefined = ""; last !== undefined;) {
      const from: string = last;
      const rows = await connections.use((db) => db.all(sql, from, SLICE_ROWS));
      for (const row of rows) sum.add(row, usage(row));
      last = lastIdIn(rows, "last");
      done += SLICE_ROWS;
      yield { fraction: Math.min(1, done / Math.max(1, all)) };
    }
  }
  const { bytes, unusedBytes } = size;
  return { database: nameOf(connections.address), bytes, unusedBytes, triggers: sum.triggers };
}
