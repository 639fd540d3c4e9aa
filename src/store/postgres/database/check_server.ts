/**
 * Looks at a server before anything is written to it.
 *
 * @module
 */

import type { WallClock } from "../../../base/clock.ts";
import { AppError } from "../../../base/errors.ts";
import { number, text } from "../../sql/columns.ts";
import { connectFault } from "./connect_fault.ts";
import type { Connections, Session } from "./connections.ts";
import { placeOf } from "./database_url.ts";
import { judgeProduct, judgeServer, type ServerFacts } from "./judge_server.ts";

/**
 * Looks at the server; gives what an operator should correct. Takes two connections at once.
 *
 * @throws {AppError} `refused` when it cannot be used, `overloaded` when it cannot be reached now.
 */
export async function checkServer(
  connections: Connections,
  clock: WallClock,
): Promise<string | undefined> {
  const { address } = connections;
  const at = placeOf(address);
  try {
    return await connections.use(async (db) => {
      const { version = "" } = await db.get("SELECT version()") ?? {};
      refuse(judgeProduct(String(version), at));
      if (await processOf(db) !== db.processId && await isLent(connections, db)) {
        refuse(
          `${at} is a pooler that lends a session for one transaction at a time: give PostgreSQL's own address, or set the pooler to sessions (pool_mode = session)`,
        );
      }
      const { user, database } = address;
      const facts = await readFacts(db, clock);
      const { refusal, warning } = judgeServer(Object.assign({ at, user, database }, facts));
      refuse(refusal);
      return warning;
    });
  } catch (error) {
    throw connectFault(error, address);
  }
}

function refuse(refusal: string | undefined): void {
  if (refusal !== undefined) throw new AppError("refused", refusal);
}

/** Whether the user has every right on the tables that it needs; they may be another user's. */
const MAY_USE_TABLES = `(
  SELECT bool_and(has_schema_privilege(pg_namespace.oid, 'USAGE') AND (pg_class.oid IS NULL
    OR has_table_privilege(pg_class.oid, 'SELECT') AND has_table_privilege(pg_class.oid, 'INSERT')
    AND has_table_privilege(pg_class.oid, 'UPDATE') AND has_table_privilege(pg_class.oid, 'DELETE')))
  FROM pg_namespace LEFT JOIN pg_class ON relnamespace = pg_namespace.oid AND relkind IN ('r', 'p')
  WHERE nspname IN ('svc', 'svc_jobs'))`;

async function readFacts(
  db: Session,
  clock: WallClock,
): Promise<Omit<ServerFacts, "at" | "user" | "database">> {
  const asked = clock.now();
  const row = await db.get(
    `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now,
       current_setting('server_version_num')::int AS version, current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_page_writes,
       pg_is_in_recovery()::int AS is_replica, current_setting('server_encoding') AS encoding,
       made.is_there::int AS has_schema,
       (CASE WHEN made.is_there THEN ${MAY_USE_TABLES}
         ELSE has_database_privilege(current_database(), 'CREATE') END)::int AS may_use
     FROM (SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = 'svc' AND tablename = 'about')
       AS is_there) AS made`,
  ) ?? {};
  const answered = clock.now();
  return {
    version: number(row, "version"),
    fsync: text(row, "fsync"),
    fullPageWrites: text(row, "full_page_writes"),
    isReplica: row["is_replica"] === 1,
    encoding: text(row, "encoding"),
    hasSchema: row["has_schema"] === 1,
    mayUse: row["may_use"] === 1,
    aheadMs: number(row, "now") - (asked + answered) / 2,
  };
}

async function processOf(db: Session): Promise<number> {
  return number(await db.get("SELECT pg_backend_pid() AS process") ?? {}, "process");
}

/**
 * Whether a pooler moves two connections between sessions of the server. A session that is their own
 * has one process each, whatever the other one does meanwhile.
 */
async function isLent(connections: Connections, a: Session): Promise<boolean> {
  return await connections.use(async (b) => {
    const ofA = [await processOf(a)];
    const keepsSession = await b.exec("BEGIN").then(() => true, () => false);
    if (!keepsSession) return true; // it lends a session for one statement
    const ofB = [await processOf(b)];
    ofA.push(await processOf(a));
    await b.exec("COMMIT");
    ofB.push(await processOf(b));
    ofA.push(await processOf(a));
    return new Set(ofA).size > 1 || new Set(ofB).size > 1 || ofA[0] === ofB[0];
  });
}
