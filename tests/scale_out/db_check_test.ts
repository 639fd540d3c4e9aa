/**
 * `svc db` over a database that daemons share: what is checked, and what is used instead.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { Connections } from "../../src/store/postgres/database/connections.ts";
import { joinDatabase, startDaemon } from "../helpers/daemon.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { createTestDatabase, postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM, runSvc } from "../helpers/program.ts";

postgresTest("svc db check looks through a shared database", async () => {
  await using database = await createTestDatabase();
  await using directory = await joinDatabase(ONE_PROGRAM, { url: database.url, node: "alpha" });
  const svc = (...args: string[]) =>
    runSvc(ONE_PROGRAM, args, { env: { SVC_DATA_DIR: directory.path } });
  const SOUND = /^PostgreSQL "svc_test_\w+" at \S.*: sound, [\d.]+ MiB\n$/;
  {
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    await daemon.apply(
      secretStore("github", { webhook_secret: "s3cret" }),
      workflow("run", "true"),
      trigger("run", { workflow: "run", webhook: { allowUnsigned: true } }),
      workflow("wait", "exec sleep 600"),
      trigger("wait", { workflow: "wait", webhook: { allowUnsigned: true } }),
    );
    equal((await daemon.send("/webhook/run", { body: "{}" })).status, 200);
    await daemon.settled();
    equal((await daemon.send("/webhook/wait", { body: "{}" })).status, 200);
    const { code, stdout, stderr } = await daemon.svc(["db", "check"]);
    deepEqual([code, stderr], [0, ""], stdout);
    match(stdout, SOUND);
    match((await daemon.svc(["db", "backup", "/tmp/none"])).stderr, /is shared: use pg_dump/);
    match((await daemon.svc(["db", "vacuum"])).stderr, /is shared: its autovacuum/);
  }
  match((await svc("db", "check")).stdout, SOUND);
  match(
    (await svc("db", "restore", dataDirAt(directory.path).secretKey)).stderr,
    /is shared: use pg_restore/,
  );
  const report = JSON.parse((await svc("db", "check", "-o", "json")).stdout);
  deepEqual([report.faults, report.schema_version > 0], [[], true]);

  const owner = { node: "test", run: "test" };
  await using admin = new Connections({ url: database.url, owner, max: 1 });
  await admin.use((db) =>
    db.exec(`DELETE FROM svc_jobs.job; DELETE FROM plans WHERE hash IN (
      SELECT plan_hash FROM tasks WHERE state = 'succeeded');
      INSERT INTO steps (task_id, position, id, state, reason) VALUES ('T', 0, 's', 'failed', '')`)
  );
  const key = dataDirAt(directory.path).secretKey;
  await Deno.writeTextFile(
    key,
    (await Deno.readTextFile(key)).replace(/[A-Za-z0-9]{8}/, "AAAAAAAA"),
  );
  const broken = await svc("db", "check");
  equal(broken.code, 1);
  match(broken.stdout, /^There are steps of tasks that do not exist: T$/m);
  match(broken.stdout, /^There are tasks whose plan is gone: \w{26}$/m);
  match(broken.stdout, /^There are tasks that are ready or run without a job, .*: \w{26}$/m);
  match(broken.stdout, /: 4 faults$/m);
});
