/**
 * The PostgreSQL of scenarios that need it, and the processor time of its processes.
 *
 * @module
 */

import type { Connections } from "../../src/store/postgres/database/connections.ts";
import { startPostgres } from "../../tests/helpers/postgres_server.ts";
import { processorTime } from "./processor_time.ts";
import type { BenchContext, Figure } from "./scenario.ts";

/**
 * Measures with a server in `$SVC_TEST_POSTGRES`, and starts one if the variable is not set. If no
 * server can be started, it measures nothing and prints the reason.
 */
export async function withPostgres(
  { note }: BenchContext,
  measure: () => Promise<readonly Figure[]>,
): Promise<readonly Figure[]> {
  if ((Deno.env.get(SERVER) ?? "") !== "") return await measure();
  await using opened = new AsyncDisposableStack();
  try {
    Deno.env.set(SERVER, opened.use(await startPostgres()).url());
  } catch (error) {
    note(`SKIPPED: ${error instanceof Error ? error.message : error}`);
    return [];
  }
  opened.defer(() => Deno.env.delete(SERVER));
  return await measure();
}

const SERVER = "SVC_TEST_POSTGRES";

/** The server's processes for connections to this database. */
export async function processesOf(connections: Connections): Promise<readonly number[]> {
  const rows = await connections.use((db) =>
    db.all("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
  );
  return rows.map(({ pid }) => Number(pid));
}

/** The processor time of these processes in milliseconds; NaN if it cannot be read. */
export function databaseTime(processes: readonly number[]): number {
  try {
    return processes.reduce((sum, pid) => sum + processorTime(pid).own, 0) || NaN;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return NaN; // another machine's, or ended
    throw error;
  }
}
