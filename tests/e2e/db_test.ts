/**
 * `svc db` from outside: a copy is taken while requests come, checked, and put back; with
 * the daemon running and without one; and who may do which of it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { type Program, programTest, runSvc, slowTest } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";

const OF_A_FILE = "it copies, spoils or vacuums a file; scale_out/db_check_test.ts has PostgreSQL";

/** Applies a trigger `now` that anybody may fire, and one SecretStore. */
async function prepare(daemon: TestDaemon): Promise<void> {
  await daemon.apply(
    workflow("record", "true"),
    secretStore("github", { webhook_secret: "a secret of 32 bytes, or so it is" }),
    trigger("now", { webhook: { allowUnsigned: true } }),
  );
}

async function post(daemon: TestDaemon): Promise<void> {
  const { status } = await daemon.send("/webhook/now", { body: "{}" });
  equal(status, 200);
}

/** `svc … -o json` without a daemon. */
async function json(program: Program, dir: string, ...args: string[]) {
  const { code, stdout, stderr } = await runSvc(program, [
    ...args,
    "--data-dir",
    dir,
    "-o",
    "json",
  ]);
  equal(code, 0, stderr);
  return JSON.parse(stdout) as Record<string, unknown>;
}

slowTest(
  "svc db backup, check and restore: what was accepted before the copy is back, and runs once",
  async (program) => {
    await using dir = await tempDir();
    await using directory = await initDataDirectory(program);
    const file = join(dir.path, "copy.db");
    let before: readonly { id: string }[];
    {
      await using daemon = await startDaemon(program, { directory });
      await prepare(daemon);
      for (let n = 0; n < 3; n++) await post(daemon);
      before = await daemon.settled();
      const backup = await daemon.json("db", "backup", file) as Record<string, unknown>;
      deepEqual(Object.keys(backup), ["file", "bytes", "schema_version", "key_file"]);
      deepEqual(
        [backup["file"], backup["bytes"], backup["key_file"]],
        [file, (await Deno.stat(file)).size, `${directory.path}/secrets/secretstore.key`],
      );
      equal(((await Deno.stat(file)).mode ?? 0) & 0o777, 0o600);
      await post(daemon);
      await daemon.settled();
      const refused = await daemon.svc(["db", "restore", file]);
      deepEqual([refused.code, refused.stdout], [1, ""]);
      match(refused.stderr, /Another daemon/);
      const found = await daemon.json("db", "check") as Record<string, unknown>;
      deepEqual([found["faults"], found["notes"]], [[], []]);
      const [trace] = await daemon.json("get", "control-audit") as Record<string, unknown>[];
      deepEqual([trace?.["operation"], trace?.["target"]], ["db.backup", file]);
    }
    const copy = await json(program, directory.path, "db", "check", file);
    deepEqual([copy["file"], copy["faults"]], [file, []]);
    const done = await json(program, directory.path, "db", "restore", file);
    match(String(done["kept"]), /svc\.db\.before-restore-\d{8}T\d{6}Z$/);
    equal(done["open_tasks"], 0);
    await using daemon = await startDaemon(program, { directory });
    deepEqual((await daemon.tasks()).map(({ id }) => id), before.map(({ id }) => id));
    await post(daemon);
    equal((await daemon.settled()).length, 4);
    const kept = await runSvc(program, ["db", "check", String(done["kept"])], {
      env: { SVC_DATA_DIR: directory.path },
    });
    equal(kept.code, 0, kept.stdout);
  },
  { fileOnly: OF_A_FILE },
);

slowTest(
  "svc db backup while requests come: each is answered, and the copy is sound",
  async (program) => {
    await using dir = await tempDir();
    await using daemon = await startDaemon(program);
    await daemon.apply(
      trigger("now", { webhook: { allowUnsigned: true }, workflow: "nowhere" }),
    );
    const statuses = new Map<number, number>();
    let over = false;
    const send = async () => {
      const body = JSON.stringify({ filler: "x".repeat(50_000) });
      const headers = { "content-type": "application/json" };
      while (!over) {
        const { status } = await daemon.send("/webhook/now", { body, headers });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    const sending = Promise.all(Array.from({ length: 8 }, send));
    await until("some deliveries", () => (statuses.get(200) ?? 0) > 200 || undefined);
    const before = statuses.get(200) ?? 0;
    const file = join(dir.path, "copy.db");
    const { code, stderr } = await daemon.svc(["db", "backup", file]);
    over = true;
    await sending;
    equal(code, 0, stderr);
    deepEqual([...statuses.keys()], [200], daemon.log);
    using copy = new DatabaseSync(file, { readOnly: true });
    const { n } = copy.prepare("SELECT count(*) AS n FROM deliveries").get() as { n: number };
    ok(n >= before && n < (statuses.get(200) ?? 0), `${before} <= ${n} < ${statuses.get(200)}`);
    equal((await daemon.svc(["db", "check", file])).code, 0);
  },
  { fileOnly: OF_A_FILE },
);

programTest("svc db without a daemon: the same, on the files", async (program) => {
  await using dir = await tempDir();
  await using directory = await initDataDirectory(program);
  const file = join(dir.path, "copy.db");
  const env = { SVC_DATA_DIR: directory.path };
  const backup = await runSvc(program, ["db", "backup", "copy.db"], { env, cwd: dir.path });
  deepEqual([backup.code, backup.stdout.startsWith(`${file}: `)], [0, true], backup.stderr);
  match(backup.stderr, /open only with .*secretstore\.key: keep that file too/);
  const again = await runSvc(program, ["db", "backup", file], { env });
  deepEqual([again.code, again.stdout], [1, ""]);
  match(again.stderr, /--force/);
  equal((await runSvc(program, ["db", "backup", file, "--force"], { env })).code, 0);
  const vacuum = await json(program, directory.path, "db", "vacuum");
  deepEqual(Object.keys(vacuum), ["freed_bytes", "bytes"]);
  equal((await runSvc(program, ["db", "check"], { env })).code, 0);
  deepEqual([...Deno.readDirSync(dir.path)].map(({ name }) => name), ["copy.db"]);
}, { fileOnly: OF_A_FILE });

programTest(
  "svc db check: exit 1 and what is wrong; exit 4 for a file that is not there",
  async (program) => {
    await using directory = await initDataDirectory(program);
    const env = { SVC_DATA_DIR: directory.path };
    {
      using db = new DatabaseSync(join(directory.path, "svc.db"));
      db.exec("INSERT INTO task_ends VALUES ('lost')");
    }
    const found = await runSvc(program, ["db", "check"], { env });
    equal(found.code, 1);
    match(found.stdout, /tasks that do not exist[^\n]*: lost\n.*svc\.db: 1 fault\n$/);
    await using daemon = await startDaemon(program, { directory });
    equal((await daemon.svc(["db", "check"])).code, 1, "the same while a daemon runs");
    const missing = await daemon.svc(["db", "check", "/nowhere/copy.db"]);
    deepEqual([missing.code, missing.stdout], [4, ""]);
    equal((await daemon.svc(["db", "restore", "/nowhere/copy.db"])).code, 4);
  },
  { fileOnly: OF_A_FILE },
);

slowTest(
  "svc db takes admin for a backup, and operator for check and vacuum",
  async (program) => {
    await using dir = await tempDir();
    await using daemon = await startDaemon(program);
    const policy = `${daemon.dataDir}/control-plane/uds-policy.yaml`;
    const file = join(dir.path, "copy.db");
    const codes = async () => {
      const commands = [["backup", file], ["check"], ["vacuum"]];
      return await Promise.all(
        commands.map(async (args) => (await daemon.svc(["db", ...args])).code),
      );
    };
    await Deno.writeTextFile(policy, "max_role: read_only\n");
    deepEqual(await codes(), [5, 5, 5]);
    await Deno.writeTextFile(policy, "max_role: operator\n");
    deepEqual(await codes(), [5, 0, 0]);
    deepEqual([...Deno.readDirSync(dir.path)], []);
    await Deno.remove(policy);
    deepEqual(await codes(), [0, 0, 0]);
  },
  { fileOnly: OF_A_FILE },
);

slowTest(
  "svc db restore: what was revoked stays revoked, what nobody can vouch for is named, and the audit has the file",
  async (program) => {
    await using dir = await tempDir();
    await using directory = await initDataDirectory(program);
    const file = join(dir.path, "copy.db");
    const env = { SVC_DATA_DIR: directory.path };
    const restoring = async (...more: string[]) => {
      const { code, stdout, stderr } = await runSvc(program, ["db", "restore", file, ...more], {
        env,
      });
      equal(code, 0, stderr);
      return stdout;
    };
    let id: string;
    {
      await using daemon = await startDaemon(program, { directory });
      const made = await daemon.json("token", "create", "--role", "admin", "--name", "laptop");
      id = String((made as Record<string, unknown>)["id"]);
      await daemon.json("db", "backup", file);
      equal((await daemon.svc(["token", "revoke", id])).code, 0);
    }
    match(await restoring(), /^Tokens of the backup that are revoked: 1$/m);
    {
      await using daemon = await startDaemon(program, { directory });
      const [token] = await daemon.json("token", "list") as Record<string, unknown>[];
      deepEqual([token?.["id"], typeof token?.["revoked_at"]], [id, "string"]);
      const [row] = await daemon.json("get", "control-audit") as Record<string, unknown>[];
      const sha256 = createHash("sha256").update(await Deno.readFile(file)).digest("hex");
      deepEqual([row?.["operation"], row?.["target"]], ["db.restore", `${file} sha256:${sha256}`]);
    }
    await Deno.remove(join(directory.path, "svc.db"));
    match(
      await restoring(),
      new RegExp(
        `^Token ${id} "laptop" \\(admin, until .*may have been revoked.*token revoke`,
        "m",
      ),
    );
    match(await restoring("--revoke-tokens"), /^Tokens of the backup that are revoked: 1$/m);
  },
  { fileOnly: OF_A_FILE },
);

slowTest(
  "svc db rekey: secrets work on with a new key, and nothing shows the old one",
  async (program) => {
    await using directory = await initDataDirectory(program);
    const key = join(directory.path, "secrets/secretstore.key");
    const old = await Deno.readTextFile(key);
    const secret = "a secret of 32 bytes, or so it is";
    const rekey = (...more: string[]) =>
      runSvc(program, ["db", "rekey", ...more], { env: { SVC_DATA_DIR: directory.path } });
    const body = (n: number) => JSON.stringify({ n });
    const push = (daemon: TestDaemon, n: number) =>
      daemon.send("/webhook/push", { headers: githubHeaders(secret, body(n)), body: body(n) });
    {
      await using daemon = await startDaemon(program, { directory });
      await daemon.apply(
        workflow("show", "cat $SVC_DATA_DIR/secrets/*"),
        secretStore("github", { webhook_secret: secret }),
        trigger("push", { workflow: "show" }),
      );
      equal((await push(daemon, 1)).status, 200);
      await daemon.settled();
      const { code, stderr } = await rekey();
      equal(code, 1);
      match(stderr, /^error: Another daemon runs on .*: stop it/);
    }
    const dry = await rekey("--dry-run");
    deepEqual([dry.code, dry.stderr], [0, ""]);
    match(dry.stdout, /^1 value of 1 SecretStore would be sealed with a new key; nothing was ch/);
    equal(await Deno.readTextFile(key), old);
    const { code, stdout, stderr } = await rekey("-o", "json");
    equal(code, 0, stderr);
    const done = JSON.parse(stdout) as Record<string, unknown>;
    deepEqual([done["secret_stores"], done["values"], done["key_file"]], [1, 1, key]);
    equal(await Deno.readTextFile(String(done["former_key_file"])), old);
    match(String(done["changed_at"]), /^\d{4}-.*Z$/);
    const again = await rekey();
    equal(again.code, 0, again.stderr);
    match(
      again.stdout,
      /^1 value of 1 SecretStore sealed with a new key\nNew key: .*\n {2}back it up now/,
    );
    match(
      again.stdout,
      /\nOld key: .*\.before-rekey-.*\n {2}backups made before \S+Z open with it; del/,
    );
    ok(again.stdout.split("\n").every((line) => !/^ /.test(line) || line.length <= 80));
    await using daemon = await startDaemon(program, { directory });
    equal((await push(daemon, 2)).status, 200);
    const [task] = await daemon.settled();
    const { stdout: log } = await daemon.svc(["task", "logs", task?.id ?? ""]);
    match(log, /\*\*\*/);
    for await (const { name } of Deno.readDir(join(directory.path, "secrets"))) {
      const [, value = ""] = (await Deno.readTextFile(join(directory.path, "secrets", name)))
        .trim().split(" ");
      ok(!log.includes(value), name);
    }
    const [row] = await daemon.json("get", "control-audit") as Record<string, unknown>[];
    deepEqual([row?.["operation"], row?.["caller"], row?.["result"]], [
      "db.rekey",
      "files",
      "done",
    ]);
    equal((await daemon.svc(["db", "check"])).code, 0);
  },
);

slowTest(
  "svc db usage: what takes the disk, by trigger; with a daemon and without, the same numbers",
  async (program) => {
    await using directory = await initDataDirectory(program);
    const env = { SVC_DATA_DIR: directory.path };
    let during: Record<string, unknown>;
    {
      await using daemon = await startDaemon(program, { directory });
      await daemon.apply(
        workflow("print", "head -c 20000 /dev/zero | tr '\\0' x; echo"),
        trigger("a-trigger-with-a-name-that-is-as-long-as-they-get", {
          webhook: { allowUnsigned: true },
          workflow: "print",
        }),
        trigger("small", { webhook: { allowUnsigned: true }, workflow: "print" }),
      );
      const send = async (trigger: string, bytes: number) => {
        // Digits that no database can pack into much less.
        const digits = Array.from(
          { length: bytes / 10 },
          (_, n) => Math.sin(n).toFixed(12).slice(-10),
        );
        const body = JSON.stringify({ n: bytes, text: digits.join("") });
        equal((await daemon.send(`/webhook/${trigger}`, { body })).status, 200);
      };
      await send("a-trigger-with-a-name-that-is-as-long-as-they-get", 100_000);
      await send("small", 10);
      await send("small", 11);
      await daemon.settled();
      during = await daemon.json("db", "usage") as Record<string, unknown>;
      deepEqual(Object.keys(during), [
        "data_dir",
        "database",
        "entries",
        "total_bytes",
        "disk_free_bytes",
        "kept_commits",
        "triggers",
      ]);
      const { stdout: status } = await daemon.svc(["status"]);
      const { stdout, code } = await daemon.svc(["db", "usage"], { env: { COLUMNS: "80" } });
      equal(code, 0);
      match(stdout, /^WHAT +SIZE +NOTE\ndatabase +[\d.]+ MiB/);
      match(
        stdout,
        /\ntotal +[\d.]+ [KM]iB +\/.*\nleft +[\d.]+ \w+ +on its disk\n\nTRIGGER +TOTAL/,
      );
      match(stdout, /\nsmall +[\d.]+ KiB +2 +[\d.]+ \w+ +2 +/);
      const [, size = ""] = /^database +([\d.]+ MiB)/m.exec(stdout) ?? [];
      ok(status.includes(size), `${size} in ${status}`);
    }
    const after = await json(program, directory.path, "db", "usage");
    for (const { triggers } of [during, after] as { triggers: Record<string, number>[] }[]) {
      const [big, small] = triggers;
      deepEqual([big?.["deliveries"], big?.["tasks"], small?.["deliveries"]], [1, 1, 2]);
      ok(
        Number(big?.["body_bytes"]) > 1000 && Number(big?.["log_bytes"]) > 50,
        "stored packed or not",
      );
      ok(Number(big?.["bytes"]) > Number(small?.["bytes"]));
    }
    deepEqual(after["triggers"], during["triggers"]);
    const { stdout } = await runSvc(program, ["db", "usage"], { env });
    match(stdout, /^a-trigger-with-a-name/m);
  },
);
