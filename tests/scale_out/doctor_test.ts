/**
 * `svc doctor` over a database that daemons share: reached, not reached, and of another version.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import type { DoctorFinding } from "../../src/api/doctor_operations.ts";
import { Connections } from "../../src/store/postgres/database/connections.ts";
import { joinDatabase, startDaemon } from "../helpers/daemon.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { createTestDatabase, postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM, runSvc } from "../helpers/program.ts";

postgresTest("svc doctor looks at a shared database, and says why it cannot", async () => {
  await using database = await createTestDatabase();
  await using directory = await joinDatabase(ONE_PROGRAM, { url: database.url, node: "alpha" });
  await Deno.writeTextFile(join(directory.path, "daemon.yaml"), "webhook-bind: none\n");
  const examine = async () => {
    const args = ["doctor", "--data-dir", directory.path, "-o", "json"];
    const { code, stdout } = await runSvc(ONE_PROGRAM, args);
    const findings = JSON.parse(stdout).findings as readonly DoctorFinding[];
    return {
      code,
      failed: findings.filter(({ result }) => result === "failed").map(({ check }) => check),
      of: (check: string) => findings.find((one) => one.check === check)?.message ?? "",
    };
  };
  const SOUND = /^PostgreSQL "svc_test_\w+" at \S.*, [\d.]+ MiB, schema \d+$/;
  {
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    await daemon.apply(
      secretStore("github", { webhook_secret: "s3cret" }),
      workflow("run", "true"),
      trigger("run", { workflow: "run", webhook: { allowUnsigned: true } }),
    );
    equal((await daemon.send("/webhook/run", { body: "{}" })).status, 200);
    const beside = await examine();
    deepEqual([beside.code, beside.failed], [0, []]);
    match(beside.of("database"), SOUND);
  }
  const sound = await examine();
  deepEqual([sound.code, sound.failed], [0, []]);
  match(sound.of("database"), SOUND);
  match(sound.of("key"), /opens every SecretStore \(1\)$/);
  const owner = { node: "test", run: "test" };
  {
    await using admin = new Connections({ url: database.url, owner, max: 1 });
    await admin.use((db) => db.exec("UPDATE deliveries SET received_at = 4102444800000"));
    deepEqual((await examine()).failed, ["clock"]);
    await admin.use((db) => db.exec("UPDATE svc.about SET version = 999"));
  }
  const newer = await examine();
  deepEqual(newer.failed, ["database"]);
  match(newer.of("database"), /newer svc \(schema 999, this one knows \d+\): install that version/);
  await Deno.writeTextFile(
    join(directory.path, "database.url"),
    "postgres://svc:hidden@127.0.0.1:1/svc\n",
  );
  const away = await examine();
  deepEqual([away.code, away.failed], [1, ["database"]]);
  match(away.of("database"), /127\.0\.0\.1:1/);
  equal(away.of("database").includes("hidden"), false);
});
