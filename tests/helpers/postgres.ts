/**
 * Databases for tests, on the server that `$SVC_TEST_POSTGRES` names and `.ci/test` starts. Without
 * a server the tests are skipped.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Connections, type Session } from "../../src/store/postgres/database/connections.ts";
import { migrate } from "../../src/store/postgres/database/migrate.ts";
import { JobQueue } from "../../src/store/postgres/jobs/job_queue.ts";
import { skippable } from "./requirements.ts";
import { longTest } from "./program.ts";

/** Address of the server with a user that may create databases; empty without a server. */
const server = () => Deno.env.get("SVC_TEST_POSTGRES") ?? "";
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const OWNER = { node: "tests", run: "tests" };

/** How a test is run. */
export interface PostgresTestOptions {
  /** Whether it runs only when everything is to run; it does when absent. */
  readonly isLong?: boolean;
  /** Why it cannot run here, beside a missing PostgreSQL; it can when absent. */
  readonly skip?: string | undefined;
}

/**
 * A test that needs PostgreSQL; skipped where there is none, and, unless `isLong` is false, where
 * not everything is to run.
 */
export function postgresTest(
  name: string,
  fn: (t: Deno.TestContext) => Promise<void>,
  { isLong = true, skip }: PostgresTestOptions = {},
): void {
  const reason = server() === "" ? "no PostgreSQL" : skip;
  if (isLong && reason === undefined) return longTest(name, (_program, t) => fn(t));
  Deno.test({ ...skippable(name, reason), fn });
}

/** A database that goes away with the test. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
}

/** Makes a database with the schema of `svc` and no row in it. */
export function createTestDatabase(): Promise<TestDatabase> {
  return create(async (db) => `TEMPLATE ${await template(db)}`);
}

/** Copies a database that has no open connection. */
export function copyDatabase({ url }: TestDatabase): Promise<TestDatabase> {
  return create(() => Promise.resolve(`TEMPLATE ${new URL(url).pathname.slice(1)}`));
}

/** Makes a database without a schema. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return create(() => Promise.resolve(""));
}

async function create(clause: (db: Session) => Promise<string>): Promise<TestDatabase> {
  const name = `svc_test_${crypto.randomUUID().replaceAll("-", "")}`;
  const withServer = async (work: (db: Session) => Promise<void>) => {
    await using connections = new Connections({ url: server(), owner: OWNER, max: 1 });
    await connections.use(work);
  };
  await withServer(async (db) => await db.exec(`CREATE DATABASE ${name} ${await clause(db)}`));
  return {
    url: urlOf(name),
    [Symbol.asyncDispose]: () => withServer((db) => db.exec(`DROP DATABASE ${name} WITH (FORCE)`)),
  };
}

/**
 * The database that others are copied from, which is faster than to migrate each. The first test
 * that needs it makes it. Its name contains a hash of the schema, because a server may outlive a
 * run.
 */
async function template(db: Session): Promise<string> {
  const name = `svc_template_${hashOfSources()}`;
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

/** Files that decide the schema of a database. */
const SOURCES = [
  "src/store/postgres/database",
  "src/store/postgres/functions",
  "src/store/postgres/jobs",
];

function hashOfSources(): string {
  const hash = createHash("sha256").update(Deno.readTextFileSync(join(ROOT, "deno.json")));
  for (const folder of SOURCES) {
    const names = [...Deno.readDirSync(join(ROOT, folder))].map(({ name }) => name).sort();
    for (const name of names) hash.update(Deno.readTextFileSync(join(ROOT, folder, name)));
  }
  return hash.digest("hex").slice(0, 16);
}

async function migrated(url: string): Promise<void> {
  await using connections = new Connections({ url, owner: OWNER });
  await migrate(connections);
  await using _jobs = await JobQueue.open(connections, {
    leaseMs: 60_000,
    names: [],
    isOwner: true,
  });
}

function urlOf(database: string): string {
  const url = new URL(server());
  url.pathname = `/${database}`;
  return url.href;
}
