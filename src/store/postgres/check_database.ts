/**
 * Looks through a database that daemons share, for `svc db check`: its schema, rows that contradict
 * each other, the jobs of tasks, and the audit. It only reads, while daemons work on. Pages are
 * PostgreSQL's own: `pg_amcheck` looks at them.
 *
 * @module
 */

import type { CheckFacts, Progress } from "../maintenance.ts";
import { number } from "../sql/columns.ts";
import {
  IMPOSSIBLE_ROWS,
  type ImpossibleRows,
  listed,
  MAX_LISTED,
} from "../sql/impossible_rows.ts";
import { UNFINISHED } from "../sql/readiness.ts";
import { verifyAudit } from "./audit/audit_chain.ts";
import { connectFault } from "./database/connect_fault.ts";
import { Connections, type ConnectOptions, type Session } from "./database/connections.ts";
import { nameOf } from "./database/database_url.ts";
import { readAbout } from "./database/migrate.ts";
import { SCHEMA_VERSION } from "./database/migrations.ts";
import { inSnapshot } from "./database/snapshot.ts";
import { QUEUE, SCHEMA } from "./functions/queue_names.ts";
import { loadResources } from "./resources/resource_rows.ts";

/** Tasks and jobs that do not go together: a task that is ready or runs has one job, no other. */
const IMPOSSIBLE_JOBS: readonly ImpossibleRows[] = [
  {
    sql: `SELECT id FROM tasks WHERE (state = 'running' OR state = 'pending' AND readiness = 0)
          AND NOT EXISTS (SELECT 1 FROM ${SCHEMA}.job WHERE job.id = job_of(tasks.id))`,
    show: (ids) =>
      `There are tasks that are ready or run without a job, so no daemon takes them: ${ids}`,
  },
  {
    sql: `SELECT data ->> 0 AS id FROM ${SCHEMA}.job
          WHERE name IN (SELECT '${QUEUE}' UNION ALL SELECT queue FROM placements)
          AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = data ->> 0
            AND (state = 'running' OR state = 'pending' AND readiness = 0))`,
    show: (ids) => `There are jobs of tasks that have ended, wait, or do not exist: ${ids}`,
  },
  {
    sql:
      `SELECT indexrelid::regclass::text AS id FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
          WHERE relnamespace IN (to_regnamespace('svc'), to_regnamespace('${SCHEMA}'))
          AND NOT indisvalid`,
    show: (ids) => `There are indexes that were not built completely: ${ids}`,
  },
];

/** The faults and facts of a shared database. */
export interface SharedCheckFacts extends CheckFacts {
  /** The database for people: its name and its server. */
  readonly database: string;
}

const NOTHING = { faults: [], openTasks: 0, running: 0, secretStores: [] };

/**
 * Looks through it; yields its progress.
 *
 * @throws {AppError} `refused` or `overloaded` when it cannot be connected to.
 */
export async function* checkSharedRows(
  to: Omit<ConnectOptions, "max">,
): AsyncGenerator<Progress, SharedCheckFacts, undefined> {
  await using connections = new Connections({ ...to, max: 1 });
  const { version, bytes } = await connections.use(readFacts).catch((error) => {
    throw connectFault(error, connections.address);
  });
  const facts = {
    ...NOTHING,
    schemaVersion: version,
    database: nameOf(connections.address),
    bytes,
  };
  if (version === 0) return { ...facts, faults: ["It is not a database of svc"] };
  if (version !== SCHEMA_VERSION) {
    const which = version > SCHEMA_VERSION ? "a newer" : "an older";
    const fault = `It was written by ${which} svc (schema ${version}, this one knows ` +
      `${SCHEMA_VERSION}), so its rows were not checked`;
    return { ...facts, faults: [fault] };
  }
  const known = await connections.use(async (db) => ({
    ...await countTasks(db),
    secretStores: (await loadResources(db)).filter(({ kind }) => kind === "SecretStore"),
  }));
  const faults: string[] = [];
  const checks = [...IMPOSSIBLE_ROWS, ...IMPOSSIBLE_JOBS];
  for (const [done, { sql, show }] of checks.entries()) {
    yield { fraction: done / (checks.length + 1) };
    faults.push(
      ...await connections.use((db) => unhurried(db, async () => listed(await all(db, sql), show))),
    );
  }
  const { faults: ofAudit } = await connections.use(verifyAudit);
  faults.push(...ofAudit.slice(0, MAX_LISTED).map((fault) => `Audit: ${fault}`));
  return { ...facts, ...known, faults };
}

const all = (db: Session, sql: string) => db.all(`${sql} LIMIT ${MAX_LISTED + 1}`);

async function readFacts(db: Session) {
  const { version } = await readAbout(db);
  const size = await db.get("SELECT pg_database_size(current_database()) AS bytes");
  return { version, bytes: number(size ?? {}, "bytes") };
}

/** A look through a large table takes longer than a statement of a daemon may. */
function unhurried<T>(db: Session, work: () => Promise<T>): Promise<T> {
  return inSnapshot(db, async () => {
    await db.slowly();
    return await work();
  });
}

async function countTasks(db: Session): Promise<Pick<CheckFacts, "openTasks" | "running">> {
  const row = await db.get(
    `SELECT count(*) AS open, count(*) FILTER (WHERE state = 'running') AS running FROM tasks
     WHERE ${UNFINISHED}`,
  ) ?? {};
  return { openTasks: number(row, "open"), running: number(row, "running") };
}
