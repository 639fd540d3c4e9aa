/**
 * Databases for tests, in the cluster that `$SVC_TEST_POSTGRES` names.
 *
 * @module
 */

import { Connections } from "../../src/store/postgres/database/connections.ts";

/** Address of the cluster; `undefined` where there is none, and its tests are skipped. */
export const CLUSTER = Deno.env.get("SVC_TEST_POSTGRES") || undefined;

/** A database that goes away with the test. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
}

/** Makes an empty database. */
export async function createTestDatabase(): Promise<TestDatabase> {
  if (CLUSTER === undefined) throw new Error("There is no PostgreSQL to test with");
  const name = `svc_test_${crypto.randomUUID().replaceAll("-", "")}`;
  const owner = { node: "tests", run: "tests" };
  const admin = new Connections({ url: CLUSTER, owner, max: 1 });
  await admin.use((db) => db.exec(`CREATE DATABASE ${name}`));
  const url = new URL(CLUSTER);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      await admin.use((db) => db.exec(`DROP DATABASE ${name} WITH (FORCE)`));
      await admin[Symbol.asyncDispose]();
    },
  };
}
