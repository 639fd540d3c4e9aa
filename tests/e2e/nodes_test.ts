/**
 * Two daemons over one database, seen from outside: each lists both, and a dead one is forgotten.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { type DataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { createTestDatabase, postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM, runSvc } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";

/** A data directory of this name that shares the database of `url`, with the key in a file. */
async function join(url: string, name: string, keyFile?: string): Promise<DataDirectory> {
  const dir = await tempDir();
  const init = ["init", "--data-dir", dir.path, "--database", url, "--node", name];
  const withKey = keyFile === undefined ? init : [...init, "--key-file", keyFile];
  const result = await runSvc(ONE_PROGRAM, withKey);
  equal(result.code, 0, result.stderr);
  return dir;
}

async function nodes(daemon: TestDaemon): Promise<unknown[]> {
  using client = daemon.client();
  const { items } = await client.call("get", { what: "nodes" });
  return items.map(({ name, state, self }) => [name, state, self]);
}

postgresTest("daemons that share a database list each other, and forget a dead one", async () => {
  await using database = await createTestDatabase();
  await using first = await join(database.url, "alpha");
  await using second = await join(database.url, "beta", dataDirAt(first.path).secretKey);
  await using alpha = await startDaemon(ONE_PROGRAM, { directory: first });
  await using beta = await startDaemon(ONE_PROGRAM, { directory: second });
  deepEqual(await nodes(alpha), [["alpha", "ready", true], ["beta", "ready", false]]);
  deepEqual(await nodes(beta), [["alpha", "ready", false], ["beta", "ready", true]]);
  const { stdout } = await alpha.svc(["get", "nodes"]);
  match(stdout, /^NAME +STATE +LEASE +RUNNING +STARTED\nalpha +ready +\d+s +0 +\S+\nbeta +ready/);

  await beta.crash();
  const early = await alpha.svc(["node", "forget", "beta"]);
  equal(early.code, 1);
  match(early.stderr, /Node beta lives, or has ended within its lease, which is over in \d+s: /);
  const self = await alpha.svc(["node", "forget", "alpha", "--force"]);
  match(self.stderr, /the one that was asked: it lives/);
  const forgotten = await alpha.svc(["node", "forget", "beta", "--force"]);
  deepEqual([forgotten.code, forgotten.stdout], [0, "node/beta forgotten\n"]);
  deepEqual(await nodes(alpha), [["alpha", "ready", true]]);
});
