/**
 * Daemons whose user of PostgreSQL may use the schema and not change it, with the rights that
 * docs/scale-out.md says.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  doesNotMatch,
  match,
  ok,
  strictEqual as equal,
} from "node:assert/strict";
import { join } from "node:path";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { Connections } from "../../src/store/postgres/database/connections.ts";
import { joinDatabase, startDaemon } from "../helpers/daemon.ts";
import { trigger, workflow } from "../helpers/manifests.ts";
import { postgresTest } from "../helpers/postgres.ts";
import { startPostgres } from "../helpers/postgres_server.ts";
import { ONE_PROGRAM, ROOT, runSvc } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const PAGE = await Deno.readTextFile(join(ROOT, "docs/scale-out.md"));
/** The rights, for the role `svc_run` in the database `svc`, whose owner is `svc`. */
const [, GRANTS = ""] = /```sql\n(GRANT .*?)```/s.exec(PAGE) ?? [];

postgresTest("a user with rights on the tables alone runs daemons", async () => {
  match(GRANTS, /^GRANT CONNECT ON DATABASE svc TO svc_run;\n/);
  await using server = await startPostgres();
  const owner = server.url("svc", "boss");
  const runner = server.url("svc", "svc_run");
  await server.sql((db) => db.exec("CREATE ROLE boss LOGIN; CREATE ROLE svc_run LOGIN"));
  await server.sql((db) => db.exec("CREATE DATABASE svc OWNER boss TEMPLATE template0"));
  await using first = await joinDatabase(ONE_PROGRAM, { url: owner, node: "one" });
  await using admin = new Connections({ url: owner, owner: { node: "t", run: "t" }, max: 1 });
  await admin.use((db) => db.exec(GRANTS.replace("FOR ROLE svc ", "FOR ROLE boss ")));
  const keyFile = dataDirAt(first.path).secretKey;
  await using second = await joinDatabase(ONE_PROGRAM, { url: runner, node: "two", keyFile });
  const args = ["--lease", "10s"];
  const env = { SVC_DATABASE_URL: runner };
  await using one = await startDaemon(ONE_PROGRAM, { directory: first, args, env });
  await using two = await startDaemon(ONE_PROGRAM, { directory: second, args });
  await one.apply(
    {
      kind: "Workspace",
      metadata: { name: "far" },
      spec: { path: "workspaces/default", nodes: ["two"] },
    },
    workflow("run", "true"),
    trigger("run", { workflow: "run", workspace: "far", webhook: { allowUnsigned: true } }),
    workflow("slow", "sleep 3"),
    trigger("slow", { workflow: "slow", webhook: { allowUnsigned: true } }),
  );
  equal((await one.send("/webhook/run", { body: "{}" })).status, 200);
  await one.settled();
  equal((await two.svc(["node", "drain", "one"])).code, 0);
  for (let n = 0; n < 3; n++) {
    equal((await one.send("/webhook/slow", { body: `{"n":${n}}` })).status, 200);
  }
  await until("a task at the second", async () => {
    using client = one.client();
    const { items } = await client.call("get", { what: "nodes", name: "two" });
    return items[0]?.["running"] !== 0 || undefined;
  });
  equal((await two.svc(["node", "drain", "one", "--undo"])).code, 0);
  await two.crash();
  const tasks = await one.settled();
  deepEqual(tasks.map(({ state }) => state), Array(4).fill("succeeded"));
  ok(tasks.some(({ restarts }) => restarts > 0));
  equal((await one.svc(["db", "check"])).code, 0);
  equal(await one.stop(), 0);
  const log = await server.sql((db) => db.get("SELECT pg_read_file('log') AS text"));
  doesNotMatch(String(log?.["text"]), /permission denied|must be owner/);

  await admin.use((db) => db.exec("UPDATE about SET functions = 'older'"));
  const refused = await runSvc(ONE_PROGRAM, ["daemon"], {
    env: { SVC_DATA_DIR: second.path },
  });
  equal(refused.code, 1);
  match(refused.stderr, /user "svc_run" does not own it: run this version's "svc init" once/);
  const upgraded = await runSvc(ONE_PROGRAM, ["init"], {
    env: { SVC_DATA_DIR: second.path, SVC_DATABASE_URL: owner },
  });
  equal(upgraded.code, 0, upgraded.stderr);
  await using again = await startDaemon(ONE_PROGRAM, { directory: second, args });
  equal((await again.send("/webhook/run", { body: '{"n":1}' })).status, 200);
  await again.settled();
});

postgresTest("the password of the database is not in the logs", async () => {
  const secret = "pw-0f/the database";
  await using server = await startPostgres();
  const url = new URL(server.url("svc", "boss"));
  await server.sql((db) => db.exec("CREATE ROLE boss LOGIN"));
  await server.sql((db) => db.exec("CREATE DATABASE svc OWNER boss TEMPLATE template0"));
  await using directory = await joinDatabase(ONE_PROGRAM, { url: url.href, node: "one" });
  url.password = secret; // which this server does not ask for
  await using one = await startDaemon(ONE_PROGRAM, {
    directory,
    env: { SVC_DATABASE_URL: url.href },
  });
  await one.apply(
    workflow(
      "print",
      `tr '\\0' '\\n' <"/proc/$PPID/environ"; env; echo ${btoa(secret)}; echo the end`,
    ),
    trigger("print", { workflow: "print", webhook: { allowUnsigned: true } }),
  );
  equal((await one.send("/webhook/print", { body: "{}" })).status, 200);
  await one.settled();
  const { stdout } = await one.svc(["task", "logs", "latest"]);
  match(stdout, /the end/);
  for (const form of [secret, url.password, btoa(secret), url.href]) {
    ok(!`${stdout}${one.log}`.includes(form), `${form} in ${stdout}`);
  }
});
