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
import { basename } from "node:path";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { type DataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { createTestDatabase, postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM, run, runSvc } from "../helpers/program.ts";
import { trigger, workflow } from "../helpers/manifests.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { findFile, until } from "../helpers/until.ts";

/** A data directory of this name that shares the database of `url`, with the key in a file. */
async function join(url: string, name: string, keyFile?: string): Promise<DataDirectory> {
  const dir = await tempDir();
  const init = ["init", "--data-dir", dir.path, "--database", url, "--node", name];
  const withKey = keyFile === undefined ? init : [...init, "--key-file", keyFile];
  const result = await runSvc(ONE_PROGRAM, withKey);
  equal(result.code, 0, result.stderr);
  const [, hint] = result.stdout.split(`\nNode ${name} can start: svc daemon\n`);
  const { secretKey } = dataDirAt(dir.path);
  equal(
    hint,
    keyFile === undefined
      ? `For each other node, copy ${secretKey} to its machine, where only its user can read it, ` +
        `and run there\n  svc init --database '${url}' --node NAME --key-file COPY\n`
      : undefined,
  );
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
  return [nodes?.name, nodes?.names, nodes?.gone, (nodes?.lease_until ?? "") > time];
}

const HEADED =
  /^NAME +STATE +LEASE +RUNNING +VERSION +STARTED\nalpha +ready +\d+s +0 +\S+ +\S+\nbeta +ready/;

postgresTest("daemons that share a database list each other, and forget a dead one", async () => {
  await using database = await createTestDatabase();
  await using first = await join(database.url, "alpha");
  await using second = await join(database.url, "beta", dataDirAt(first.path).secretKey);
  await using alpha = await startDaemon(ONE_PROGRAM, { directory: first });
  await using beta = await startDaemon(ONE_PROGRAM, { directory: second });
  deepEqual(await nodes(alpha), [["alpha", "ready", true], ["beta", "ready", false]]);
  deepEqual(await nodes(beta), [["alpha", "ready", false], ["beta", "ready", true]]);
  const { stdout } = await alpha.svc(["get", "nodes"]);
  match(stdout, HEADED);

  deepEqual(await statusOf(alpha), ["alpha", ["alpha", "beta"], [], true]);
  const status = await beta.svc(["status"]);
  match(status.stdout, /^nodes: +alpha, beta\n +this is beta, its lease holds for \d+s$/m);
  match(status.stdout, /^database: +PostgreSQL "svc_test_\w+" at \S.*, [\d.]+ MiB$/m);

  await beta.crash();
  const early = await alpha.svc(["node", "forget", "beta"]);
  equal(early.code, 1);
  match(early.stderr, /Node beta runs, or ended within its lease, which expires in \d+s: /);
  const self = await alpha.svc(["node", "forget", "alpha", "--force"]);
  match(self.stderr, /answers the request, so it is alive/);
  const forgotten = await alpha.svc(["node", "forget", "beta", "--force"]);
  deepEqual([forgotten.code, forgotten.stdout], [0, "node/beta forgotten\n"]);
  deepEqual(await nodes(alpha), [["alpha", "ready", true]]);
});

postgresTest("a copy of a data directory, and a name that is taken, are refused", async () => {
  await using database = await createTestDatabase();
  await using first = await join(database.url, "alpha");
  await using alpha = await startDaemon(ONE_PROGRAM, { directory: first });
  await using copy = await tempDir();
  equal((await run("cp", ["-a", `${first.path}/.`, copy.path])).code, 0);
  const env = { SVC_DATA_DIR: copy.path };
  const cloned = await runSvc(ONE_PROGRAM, ["daemon", "--webhook-bind", "127.0.0.1:0"], { env });
  equal(cloned.code, 1);
  match(cloned.stderr, /^error: Another daemon runs as node alpha, .* copied .*"svc init"\n$/m);
  equal((await alpha.svc(["status", "--exit-status"])).code, 0, "the first goes on");

  await using third = await tempDir();
  const keyFile = dataDirAt(first.path).secretKey;
  const init = (...more: string[]) =>
    runSvc(ONE_PROGRAM, [
      "init",
      "--data-dir",
      third.path,
      "--database",
      database.url,
      "--key-file",
      keyFile,
      ...more,
    ]);
  const taken = await init("--node", "alpha");
  equal(taken.code, 1);
  match(taken.stderr, /^error: Another node of this database is named "alpha": .*--node NAME/m);
  const joined = await init("--node", "gamma");
  equal(joined.code, 0);
  match(joined.stdout, /^\nNode gamma has joined and can start: svc daemon\n/m);
  equal((await init("--node", "gamma")).stdout, `${third.path} is initialised already\n`);

  for (
    const [name, value] of [["PGOPTIONS", "-c lock_timeout=1"], ["PGCLIENT_ENCODING", "LATIN1"]]
  ) {
    const env = { SVC_DATA_DIR: third.path, [name ?? ""]: value ?? "" };
    const { code, stderr } = await runSvc(ONE_PROGRAM, ["daemon"], { env });
    deepEqual([code, stderr], [
      1,
      `error: The variable ${name} would change what svc's connections to PostgreSQL do: unset it\n`,
    ]);
  }
});

postgresTest("labels name a node, and what it needs is looked for where tasks run", async () => {
  await using database = await createTestDatabase();
  await using directory = await join(database.url, "alpha");
  const args = ["--node-labels", "gpu,big"];
  await using alpha = await startDaemon(ONE_PROGRAM, { directory, args });
  const warnings = async (...nodes: string[]) => {
    const spec = { path: "/no/such", nodes };
    const applied = await alpha.apply({ kind: "Workspace", metadata: { name: "far" }, spec });
    return applied.warnings.join("\n");
  };
  equal(await warnings("elsewhere"), "");
  for (const own of ["alpha", "big"]) {
    const said = await warnings("elsewhere", own);
    match(said, /spec\.path: "\/no\/such" does not exist/);
    doesNotMatch(said, /spec\.nodes/);
  }
});

postgresTest(
  "each node says of every task which node ran it, and for which one it waits",
  async () => {
    await using database = await createTestDatabase();
    await using first = await join(database.url, "alpha");
    await using second = await join(database.url, "beta", dataDirAt(first.path).secretKey);
    const args = ["--workers", "1"];
    await using alpha = await startDaemon(ONE_PROGRAM, { directory: first, args });
    await using _beta = await startDaemon(ONE_PROGRAM, { directory: second, args });
    await using output = await tempDir();
    const go = `${output.path}/go`;
    const spec = (...nodes: string[]) => ({ path: output.path, nodes });
    await alpha.apply(
      { kind: "Workspace", metadata: { name: "of-beta" }, spec: spec("beta") },
      { kind: "Workspace", metadata: { name: "of-gpu" }, spec: spec("gpu") },
      workflow("wait", `echo begun; while [ ! -e "${go}" ]; do sleep 0.05; done`),
      ...["of-beta", "of-gpu"].map((workspace) =>
        trigger(workspace, { workflow: "wait", workspace, webhook: { allowUnsigned: true } })
      ),
    );
    const send = async (name: string, n: number) => {
      const { json } = await alpha.send(`/webhook/${name}`, { body: `{"n":${n}}` });
      return String(json["task_id"]);
    };
    using client = alpha.client();
    const running = await send("of-beta", 1);
    const seen = await until("the task at beta", async () => {
      const task = await client.call("task", { id: running });
      return task.silent_since === undefined ? undefined : task;
    });
    deepEqual([seen.node, seen.state], ["beta", "running"]);
    match(
      (await alpha.svc(["describe", "task", running])).stdout,
      /^Node: +beta\nRunning: +step s1 for \S+, silent for \S+$/m,
    );
    const behind = await send("of-beta", 2);
    const lost = await send("of-gpu", 3);
    const reason = async (id: string) => (await client.call("task", { id })).reason;
    await until(
      "what beta has said of itself",
      async () => await reason(behind) === "waits for a worker (1 of 1 busy on beta)" || undefined,
    );
    equal(await reason(lost), "waits for a node named gpu: the nodes are alpha, beta");
    const wide = await alpha.svc(["get", "tasks", "-o", "wide"]);
    match(wide.stdout, /^ID.* NODE /);
    match(wide.stdout, new RegExp(`^${running} .*running.* beta `, "m"));
    await Deno.writeTextFile(go, "");
    equal((await alpha.svc(["task", "wait", running, behind])).code, 0);
    equal((await client.call("task", { id: behind })).node, "beta");
    const late = await alpha.svc(["task", "wait", lost, "--timeout", "1s"]);
    deepEqual([late.code, late.stderr], [
      1,
      `Timed out after 1s: task/${lost} pending: waits for a node named gpu: the nodes are alpha, beta\n`,
    ]);
  },
);

/** The faults that `svc status` has on each daemon, once each has this one. */
function degraded(daemons: readonly TestDaemon[], fault: RegExp): Promise<unknown> {
  return until(String(fault), async () => {
    const all = await Promise.all(daemons.map(async (daemon) => {
      using client = daemon.client();
      return (await client.call("status", {})).degraded;
    }));
    return all.every((one) => one.some((text) => fault.test(text))) || undefined;
  });
}

postgresTest("a drained node takes webhooks and no tasks, until that is undone", async () => {
  await using database = await createTestDatabase();
  await using first = await join(database.url, "alpha");
  await using second = await join(database.url, "beta", dataDirAt(first.path).secretKey);
  await using alpha = await startDaemon(ONE_PROGRAM, { directory: first });
  await using output = await tempDir();
  const ran = async () => (await findFile(`${output.path}/ran`) ?? "").split("\n").slice(0, -1);
  {
    await using beta = await startDaemon(ONE_PROGRAM, { directory: second });
    await alpha.apply(
      workflow("where", `basename "$SVC_DATA_DIR" >>"${output.path}/ran"`),
      trigger("where", { workflow: "where", webhook: { allowUnsigned: true } }),
    );
    const unknown = await alpha.svc(["node", "drain", "bata"]);
    match(unknown.stderr, /No node "bata": did you mean "beta"\?/);
    const drained = await alpha.svc(["node", "drain", "beta"]);
    deepEqual([drained.code, drained.stdout, drained.stderr], [0, "node/beta drained\n", ""]);
    deepEqual(await nodes(beta), [["alpha", "ready", false], ["beta", "drained", true]]);
    match((await beta.svc(["status"])).stdout, /^nodes: +alpha, beta \(drained\)$/m);
    await degraded([alpha, beta], /^node beta is drained: .* "svc node drain beta --undo"$/);
    for (let n = 0; n < 6; n++) {
      const { status } = await beta.send("/webhook/where", { body: `{"n":${n}}` });
      equal(status, 200);
    }
    equal((await alpha.settled()).length, 6);
    deepEqual(await ran(), Array(6).fill(basename(alpha.dataDir)));
    await beta.stop();
  }
  await using beta = await startDaemon(ONE_PROGRAM, { directory: second });
  deepEqual(await nodes(alpha), [["alpha", "ready", true], ["beta", "drained", false]]);
  const last = await beta.svc(["node", "drain", "alpha"]);
  equal(last.stderr, "warning: no node takes new tasks: they wait\n");
  equal((await alpha.send("/webhook/where", { body: '{"n":6}' })).status, 200);
  await degraded([alpha], /^no node takes new tasks: they wait$/);
  equal((await ran()).length, 6);
  const undone = await alpha.svc(["node", "drain", "beta", "--undo"]);
  deepEqual([undone.stdout, undone.stderr], ["node/beta takes tasks again\n", ""]);
  await until("the task at beta", async () => (await ran())[6]);
  equal((await ran())[6], basename(beta.dataDir));
});

postgresTest("each node shows what is wrong with another", async () => {
  await using database = await createTestDatabase();
  await using first = await join(database.url, "alpha");
  await using second = await join(database.url, "beta", dataDirAt(first.path).secretKey);
  const args = ["--lease", "10s"];
  await using alpha = await startDaemon(ONE_PROGRAM, { directory: first, args });
  await using beta = await startDaemon(ONE_PROGRAM, { directory: second, args });
  const policy = `${second.path}/plugin-policy.yaml`;
  await Deno.writeTextFile(policy, "mode: allowlist\n", { mode: 0o600 });
  await degraded([alpha, beta], /^plugin-policy\.yaml .* \(none on alpha; beta\): one node/);
  await Deno.chmod(policy, 0o666);
  await degraded([alpha], /^node beta: no plugin runs: the policy file is not usable/);
  const status = await alpha.svc(["status", "--exit-status"]);
  equal(status.code, 1);

  using client = alpha.client();
  const stop = new AbortController();
  const told: unknown[] = [];
  const watching = (async () => {
    for await (const line of client.stream("get.watch", { what: "nodes" }, stop.signal)) {
      told.push(...line.items.map(({ name, state }) => `${name} ${state}`), ...line.deleted);
    }
  })().catch(() => {}); // ends by being stopped
  await until("both", () => told.length === 2 || undefined);
  await beta.crash();
  await degraded([alpha], /^node beta is gone: .* "svc node forget beta"$/);
  await until("that it is gone", () => told.includes("beta gone") || undefined);
  equal((await alpha.svc(["node", "forget", "beta"])).code, 0);
  await until("that it is forgotten", () => told.includes("node/beta") || undefined);
  deepEqual(told, ["alpha ready", "beta ready", "beta gone", "node/beta"]);
  stop.abort();
  await watching;
});
