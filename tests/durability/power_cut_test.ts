/**
 * What svc says is done is on disk: every write, sync, rename and answer is recorded over `svc init`,
 * a burst of webhooks, a rotation, an upgrade and `svc db rekey`, and judged; and `svc init` and
 * `svc db rekey` are killed at each of their changes.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { readKeyFile } from "../../src/secrets/key_file.ts";
import { checkDatabase } from "../../src/store/sqlite/engine/check_version.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { toText, trigger, workflow } from "../helpers/manifests.ts";
import { longTest, ONE_PROGRAM, run, runSvc } from "../helpers/program.ts";
import { sealUnbound } from "../helpers/sealed_unbound.ts";
import { rowsOf } from "../helpers/sqlite_file.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { type Call, parseCalls } from "./recorded_calls.ts";
import { killedAt, recorded, whyNoStrace } from "./strace.ts";
import { judge } from "./sync_order.ts";

const skip = await whyNoStrace();
const options = { skip, fileOnly: "PostgreSQL syncs what is stored there" };
const SECRET = "a secret of 32 bytes, or so it is";
const STORING = /POST \S*\/v1\/(apply|secret\.rotate|secret\.set)/;

/** The calls in a record, once the program has ended and all of it is written. */
async function callsIn(file: string): Promise<readonly Call[]> {
  const text = await until("the end of the record", async () => {
    const text = await Deno.readTextFile(file);
    const main = /^\d+/.exec(text)?.[0];
    return new RegExp(`^${main} +\\+\\+\\+ (exited|killed)`, "m").test(text) ? text : undefined;
  });
  return parseCalls(text);
}

/** Every path in a directory, and the directory itself. */
function pathsIn(path: string): string[] {
  return [...Deno.readDirSync(path)].reduce<string[]>((found, { name, isDirectory }) => {
    const inner = join(path, name);
    return [...found, ...isDirectory ? pathsIn(inner) : [inner]];
  }, [path]);
}

/** Sends webhooks, some one after the other and the rest at once; each is answered with 200. */
async function burst(daemon: TestDaemon, secret: string, from: number): Promise<void> {
  const send = async (n: number) => {
    // twice, so that no page ends within both
    const body = JSON.stringify({ id: `marker-${n}-`, pad: "x".repeat(99), again: `marker-${n}-` });
    const { status } = await daemon.send("/webhook/push", {
      headers: githubHeaders(secret, body),
      body,
    });
    equal(status, 200);
  };
  for (let n = from; n < from + 10; n++) await send(n);
  await Promise.all(Array.from({ length: 40 }, (_, n) => send(from + 10 + n)));
}

/** How many requests of a record were answered with 200. */
function answersIn(calls: readonly Call[]): number {
  return calls.filter(({ args }) => /"HTTP\/1\.1 200 OK/.test(args)).length;
}

longTest("svc init announces nothing that a power cut could take back", async () => {
  await using temp = await tempDir();
  const [root, file] = [join(temp.path, "data"), join(temp.path, "record")];
  const made = await runSvc(recorded(file), ["init", "--data-dir", root]);
  equal(made.code, 0, made.stderr);
  match(made.stdout, /created .*svc\.db/);
  const calls = await callsIn(file);
  ok(calls.some(({ name, args }) => name === "write" && args.includes("created ")));
  deepEqual(judge({ calls, root, existing: [] }), []);
}, options);

longTest("no webhook, no rotation and no upgrade is answered before it is synced", async () => {
  await using temp = await tempDir();
  const root = join(temp.path, "data");
  equal((await runSvc(ONE_PROGRAM, ["init", "--data-dir", root])).code, 0);
  const dir = dataDirAt(root);
  await makeOld(root);
  const file = join(temp.path, "record");
  const existing = pathsIn(root);
  {
    await using daemon = await startDaemon(recorded(file), {
      directory: { ...dir, path: root, ...NO_DISPOSE },
    });
    match(await Deno.readTextFile(dir.secretKey), /^svc2 /);
    const manifest = toText([workflow("record", "true"), trigger("push")]);
    equal((await plain(root, ["apply", "-f", "-"], manifest)).code, 0);
    await burst(daemon, SECRET, 100);
    await burst(daemon, SECRET, 100);
    const set = await plain(root, [
      "secret",
      "set",
      "github",
      "webhook_secret",
    ], NEXT);
    equal(set.code, 0, set.stderr);
    await burst(daemon, NEXT, 200);
    const args = ["tool", "secret-rotate", "github", "next", "--value-file", "-", "--create"];
    const rotated = await plain(root, args, LAST);
    equal(rotated.code, 0, rotated.stderr);
    await burst(daemon, LAST, 300);
    await daemon.settled();
  }
  const calls = await callsIn(file);
  ok(calls.some(({ args }) => args.includes("svc is ready")), "all of it was recorded");
  ok(answersIn(calls) >= 150, `${answersIn(calls)} answers`);
  const stored = calls.filter(({ name, args }) => name === "pwrite64" && args.includes("marker-3"));
  ok(stored.length > 0, "what is stored is seen in the record");
  deepEqual(judge({ calls, root, existing, marker: /marker-\d+-/, storing: STORING }), []);
  const [row] = rowsOf(dir.database, "SELECT spec FROM resources WHERE kind = 'SecretStore'");
  match(String(row?.["spec"]), /svc2\./);
}, options);

const NEXT = "the secret after it was changed, long";
const LAST = "the secret after a rotation, long too";
const NO_DISPOSE = { [Symbol.asyncDispose]: () => Promise.resolve() };

/** Runs svc itself, not recorded. */
function plain(root: string, args: readonly string[], stdin: string) {
  return runSvc(ONE_PROGRAM, args, { stdin, env: { SVC_DATA_DIR: root } });
}

/** Makes of a data directory one of the first version: its schema, its key and a value in its form. */
async function makeOld(root: string): Promise<void> {
  const dir = dataDirAt(root);
  const key = await Deno.readTextFile(dir.secretKey);
  await Deno.writeTextFile(dir.secretKey, key.replace("svc2", "svc1"));
  await Deno.remove(dir.database);
  using db = new DatabaseSync(dir.database);
  db.exec(await Deno.readTextFile(new URL("../fixtures/schema_1.sql", import.meta.url)));
  db.exec("PRAGMA user_version = 1; PRAGMA journal_mode = WAL;");
  const place = { project: "default", store: "github", key: "webhook_secret" };
  const data = { webhook_secret: await sealUnbound(key, place, SECRET) };
  const insert = db.prepare("INSERT INTO resources VALUES (?, 'default', ?, '{}', ?, 1, 1, 1)");
  insert.run("SecretStore", "github", JSON.stringify({ data }));
  insert.run("Workspace", "default", JSON.stringify({ path: "workspaces/default" }));
}

longTest("svc init that is killed at one of its changes is finished by the next one", async () => {
  await using temp = await tempDir();
  let killed = 0;
  // most of the later ones are pages of the database, one like the other
  for (let n = 1;; n += n < 24 ? 1 : 13) {
    const dir = dataDirAt(join(temp.path, String(n)));
    const { code } = await runSvc(killedAt(n), ["init", "--data-dir", dir.root]);
    if (code === 0) break;
    killed++;
    const again = await runSvc(ONE_PROGRAM, ["init", "--data-dir", dir.root]);
    deepEqual([again.code, again.stderr], [0, ""], `killed at ${n}`);
    await readKeyFile(dir.secretKey);
    checkDatabase(dir.database);
    const [row] = rowsOf(dir.database, "SELECT name FROM resources WHERE kind = 'Workspace'");
    equal(row?.["name"], "default", `killed at ${n}`);
  }
  ok(killed > 30, `killed ${killed} times`);
}, options);

const PLACE = { project: "default", store: "github", key: "current", createdAt: 1, generation: 1 };

/** A data directory with a secret in it. */
async function makeSealed(root: string): Promise<void> {
  equal((await runSvc(ONE_PROGRAM, ["init", "--data-dir", root])).code, 0);
  const dir = dataDirAt(root);
  const keyring = await readKeyFile(dir.secretKey);
  const spec = JSON.stringify({ data: { current: await keyring.seal(PLACE, SECRET) } });
  using db = new DatabaseSync(dir.database);
  db.prepare("INSERT INTO resources VALUES ('SecretStore', 'default', 'github', '{}', ?, 1, 1, 1)")
    .run(spec);
}

/** The secret, as the key of a data directory opens it. */
async function secretIn(root: string): Promise<string> {
  const dir = dataDirAt(root);
  const [row] = rowsOf(dir.database, "SELECT spec FROM resources WHERE kind = 'SecretStore'");
  const sealed = JSON.parse(String(row?.["spec"])).data.current;
  return await (await readKeyFile(dir.secretKey)).open(PLACE, sealed);
}

longTest("svc db rekey announces nothing that a power cut could take back", async () => {
  await using temp = await tempDir();
  const [root, file] = [join(temp.path, "data"), join(temp.path, "record")];
  await makeSealed(root);
  const existing = pathsIn(root);
  const done = await runSvc(recorded(file), ["db", "rekey", "--data-dir", root]);
  equal(done.code, 0, done.stderr);
  const calls = await callsIn(file);
  ok(calls.some(({ name, args }) => name === "write" && args.includes("New key: ")));
  deepEqual(judge({ calls, root, existing }), []);
  equal(await secretIn(root), SECRET);
}, options);

longTest("svc db rekey that is killed at one of its changes needs no hand", async () => {
  await using temp = await tempDir();
  const made = join(temp.path, "made");
  await makeSealed(made);
  const key = await Deno.readTextFile(dataDirAt(made).secretKey);
  const after = { old: 0, new: 0 };
  let images = 0;
  /** Whether it was killed; what is left of it then has to be usable. */
  const isKilled = async (n: number, what: (root: string) => readonly string[]) => {
    const root = join(temp.path, String(images++));
    equal((await run("cp", ["-a", made, root])).code, 0);
    const { code } = await runSvc(killedAt(n, what(root)), ["db", "rekey", "--data-dir", root]);
    if (code === 0) return false;
    if (images % 4 === 0) {
      const directory = { path: root, ...NO_DISPOSE };
      await using daemon = await startDaemon(ONE_PROGRAM, { directory });
      equal((await daemon.svc(["status"])).code, 0);
    }
    const { stdout } = await plain(root, ["db", "check"], "");
    match(stdout, /: sound, /, `${what(root)}, killed at ${n}`);
    equal(await secretIn(root), SECRET, `${what(root)}, killed at ${n}`);
    after[await Deno.readTextFile(dataDirAt(root).secretKey) === key ? "old" : "new"]++;
    return true;
  };
  const ofDatabase = (root: string) => ["svc.db", "svc.db-wal"].map((name) => join(root, name));
  for (let n = 1; await isKilled(n, ofDatabase);) n++;
  ok(await isKilled(1, (root) => [join(root, "secrets/secretstore.key.next")]));
  ok(after.old > 3 && after.new > 3, JSON.stringify(after));
}, options);
