/**
 * Databases for tests, in the server that `$SVC_TEST_POSTGRES` names. `.ci/test` starts one; without
 * it the tests say that they were skipped.
 *
 * @module
 */

import { Connections, type Session } from "../../src/store/postgres/database/connections.ts";
import { migrate } from "../../src/store/postgres/database/migrate.ts";
import { migrationsAfter } from "../../src/store/postgres/database/migrations.ts";
import { JobQueue } from "../../src/store/postgres/jobs/job_queue.ts";

/** Address of the server, as a user who may make databases; empty where there is none. */
const SERVER = Deno.env.get("SVC_TEST_POSTGRES") ?? "";
const OWNER = { node: "tests", run: "tests" };

/** A test that needs PostgreSQL; ignored, and says so, where there is none. */
export function postgresTest(
  name: string,
  fn: (t: Deno.TestContext) => Promise<void>,
): void {
  const ignore = SERVER === "";
  Deno.test({ name: ignore ? `${name} (SKIPPED: no PostgreSQL)` : name, ignore, fn });
}

/** A database that goes away with the test. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
}

/** Makes a database with the schema of `svc` and no row in it. */
export function createTestDatabase(): Promise<TestDatabase> {
  return create(async (db) => `TEMPLATE ${await template(db)}`);
}

/** Makes a database that `svc` has never seen. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return create(() => Promise.resolve(""));
}

async function create(clause: (db: Session) => Promise<string>): Promise<TestDatabase> {
  const name = `svc_test_${crypto.randomUUID().replaceAll("-", "")}`;
  const withServer = async (work: (db: Session) => Promise<void>) => {
    await using server = new Connections({ url: SERVER, owner: OWNER, max: 1 });
    await server.use(work);
  };
  await withServer(async (db) => await db.exec(`CREATE DATABASE ${name} ${await clause(db)}`));
  return {
    url: urlOf(name),
    [Symbol.asyncDispose]: () => withServer((db) => db.exec(`DROP DATABASE ${name} WITH (FORCE)`)),
  };
}

/**
 * The database that others are copies of, which is far quicker than to migrate each. Whoever needs it
 * first makes it, under a name that goes with what is in it.
 */
async function template(db: Session): Promise<string> {
  const schema = new TextEncoder().encode(JSON.stringify(migrationsAfter(0)));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", schema)).toHex();
  const name = `svc_template_${hash.slice(0, 16)}`;
  const lock = "hashtextextended('svc template', 0)";
  await db.exec(`SELECT pg_advisory_lock(${lock})`);
  try {
    if (await db.get("SELECT FROM pg_database WHERE datname = ?", name) === undefined) {
      await db.exec(`DROP DATABASE IF EXISTS ${name}_new`);
      await db.exec(`CREATE DATABASE ${name}_new`);
      await migrated(urlOf(`${name}_new`));
      await db.exec(`ALTER DATABASE ${name}_new RENAME TO ${name}`);
    }
  } finally {
    await db.exec(`SELECT pg_advisory_unlock(${lock})`);
  }
  return name;
}

async function migrated(url: string): Promise<void> {
  await using connections = new Connections({ url, owner: OWNER });
  await migrate(connections);
  await using _jobs = await JobQueue.open(connections, 60_000);
}

function urlOf(database: string): string {
  const url = new URL(SERVER);
  url.pathname = `/${database}`;
  return url.href;
}
