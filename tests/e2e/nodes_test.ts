/**
 * Two daemons over one database, seen from outside: each lists both, and a dead one is forgotten.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  doesNotMatch,
  match,
  strictEqual as equal,
} from "node:assert/strict";
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

/** What `status` says of the nodes. */
async function statusOf(daemon: TestDaemon): Promise<unknown[]> {
  using client = daemon.client();
  const { nodes, time } = await client.call("status", {});
  return [nodes?.name, nodes?.count, nodes?.gone, (nodes?.lease_until ?? "") > time];
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

  deepEqual(await statusOf(alpha), ["alpha", 2, [], true]);
  const status = await beta.svc(["status"]);
  match(status.stdout, /^nodes: +2\n +this is beta, its lease holds for \d+s$/m);
  match(status.stdout, /^database: +PostgreSQL "svc_test_\w+" at \S.*, [\d.]+ MiB$/m);

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

postgresTest("labels name a node, and what it needs is looked for where tasks run", async () => {
  await using database = await createTestDatabase();
  await using directory = await join(database.url, "alpha");
  const args = ["--node-labels", "gpu,big"];
  await using alpha = await startDaemon(ONE_PROGRAM, { directory, args });
  const warnings = async (...nodes: string[]) => {
    const spec = { path: "/no/such", nodes };
    const applied = await alpha.apply({ kind: "Workspace", metadata: { name: "far" }, spec });
    return applied.stderr;
  };
  equal(await warnings("elsewhere"), "");
  for (const own of ["alpha", "big"]) {
    const said = await warnings("elsewhere", own);
    match(said, /spec\.path: "\/no\/such" does not exist/);
    doesNotMatch(said, /spec\.nodes/);
  }
});
