/**
 * `svc init` that is killed: after each change of the data directory it is as if nothing had
 * happened, or as if it had been done; another call finishes it.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { type DataDir, dataDirAt } from "../../src/base/data_dir.ts";
import { lockDataDir } from "../../src/base/lock.ts";
import { initDataDir } from "../../src/init.ts";
import { readKeyFile } from "../../src/secrets/key_file.ts";
import { checkDatabase } from "../../src/store/sqlite/engine/check_version.ts";
import { checkOwn } from "../../src/upkeep/check.ts";
import { NOT_SLOW, run } from "../helpers/program.ts";
import { rowsOf } from "../helpers/sqlite_file.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { finish } from "../rigs/upkeep_rig.ts";
import { afterEachChange } from "../helpers/each_change.ts";
import { skippable } from "../helpers/requirements.ts";

const env = (name: string) => name === "HOME" ? "/nonexistent" : undefined;
const init = (dir: DataDir) => initDataDir(dir, { clock: systemClock, env });

/** What a finished data directory has to have. */
async function isWhole(dir: DataDir): Promise<void> {
  await readKeyFile(dir.secretKey);
  checkDatabase(dir.database);
  const workspaces = rowsOf(dir.database, "SELECT name FROM resources WHERE kind = 'Workspace'");
  deepEqual(workspaces.map(({ name }) => name), ["default"]);
  ok((await Deno.stat(join(dir.bin, "svc"))).size > 0);
  ok((await Deno.stat(dir.settings)).size > 0);
  for (const place of [dir.root, join(dir.root, "secrets"), dir.bin]) {
    const left = [...Deno.readDirSync(place)].filter(({ name }) => name.includes(".part"));
    deepEqual(left, [], `left in ${place}`);
  }
}

Deno.test(
  skippable("init that is killed after any of its changes is finished by the next one", NOT_SLOW),
  async () => {
    await using temp = await tempDir();
    const dir = dataDirAt(join(temp.path, "data"));
    let images = 0;
    await afterEachChange(async () => {
      if (await Deno.stat(dir.root).then(() => false, () => true)) return;
      const copied = await run("cp", ["-a", dir.root, join(temp.path, `image${images++}`)]);
      equal(copied.code, 0, copied.stderr);
    }, () => init(dir));
    ok(images > 20, `${images} changes`);
    for (let n = 0; n < images; n++) {
      const image = dataDirAt(join(temp.path, `image${n}`));
      const hadKey = await Deno.readTextFile(image.secretKey).catch(() => undefined);
      if (await Deno.stat(image.database).then(() => true, () => false)) {
        ok(hadKey !== undefined, `image ${n} has a database without a key`);
        checkDatabase(image.database);
      }
      await init(image);
      await isWhole(image);
      if (hadKey !== undefined) equal(await Deno.readTextFile(image.secretKey), hadKey);
    }
  },
);

/** Puts a database in a place in which a transaction was cut off, its journal half written. */
async function leaveHotJournal(path: string, committed: string): Promise<void> {
  await using temp = await tempDir();
  const made = join(temp.path, "made.db");
  using db = new DatabaseSync(made);
  db.exec(`PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; VACUUM; ${committed}`);
  db.exec("PRAGMA cache_size = 1; BEGIN; CREATE TABLE cut (a);");
  for (let n = 0; n < 200; n++) db.exec("INSERT INTO cut VALUES (zeroblob(9000))");
  for (const end of ["", "-journal"]) await Deno.copyFile(`${made}${end}`, `${path}${end}`);
  ok((await Deno.stat(`${path}-journal`)).size > 0);
  db.exec("ROLLBACK");
}

Deno.test("a database that was begun and holds nothing is made anew, its hot journal included", async () => {
  await using temp = await tempDir();
  const dir = dataDirAt(join(temp.path, "data"));
  await init(dir);
  await Deno.remove(dir.secretKey);
  await Deno.remove(dir.database);
  await leaveHotJournal(dir.database, "");
  deepEqual((await init(dir)).made, [dir.secretKey, dir.database]);
  await isWhole(dir);
});

Deno.test("a database of another program is named and not replaced, once its journal is undone", async () => {
  await using temp = await tempDir();
  const dir = dataDirAt(join(temp.path, "data"));
  await init(dir);
  await Deno.remove(dir.database);
  await leaveHotJournal(dir.database, "CREATE TABLE theirs (a); INSERT INTO theirs VALUES (7);");
  await rejects(init(dir), {
    code: "refused",
    message: /svc\.db" is not a database of svc, it holds table "theirs": move it away/,
  });
  deepEqual(rowsOf(dir.database, "SELECT a FROM theirs").map(({ a }) => Number(a)), [7]);
  deepEqual(rowsOf(dir.database, "SELECT name FROM sqlite_schema").length, 1);
});

Deno.test("a key that was lost before anything was sealed is made anew; an empty one is named", async () => {
  await using temp = await tempDir();
  const dir = dataDirAt(join(temp.path, "data"));
  await init(dir);
  for (const content of ["", "   \n", "svc2 torn"]) {
    await Deno.writeTextFile(dir.secretKey, content);
    const what = content.trim() === "" ? "is empty" : "is damaged";
    const message = `The key "${dir.secretKey}" ${what}, and nothing has been sealed with it: ` +
      'remove it and run "svc init"';
    await rejects(init(dir), { code: "refused", message });
    const { result } = await finish(checkOwn({ env, alone: true }, dir));
    deepEqual(result.faults, [message]);
  }
  await Deno.remove(dir.secretKey);
  const missing = (await finish(checkOwn({ env, alone: true }, dir))).result.faults;
  deepEqual(missing, [
    `The key "${dir.secretKey}" is missing, and nothing has been sealed with it: run "svc init"`,
  ]);
  deepEqual((await init(dir)).made, [dir.secretKey]);
  await isWhole(dir);
});

Deno.test("a key with which something is sealed is never replaced", async () => {
  await using temp = await tempDir();
  const dir = dataDirAt(join(temp.path, "data"));
  await init(dir);
  {
    using db = new DatabaseSync(dir.database);
    db.exec(
      `INSERT INTO resources (kind, project, name, metadata, spec, generation, created_at, updated_at)
      VALUES ('SecretStore', 'default', 'github', '{}', '{"data":{}}', 1, 1, 1)`,
    );
  }
  for (
    const spoil of [() => Deno.writeTextFile(dir.secretKey, ""), () => Deno.remove(dir.secretKey)]
  ) {
    await spoil();
    const before = await Deno.readTextFile(dir.secretKey).catch(() => "none");
    await rejects(init(dir), {
      code: "refused",
      message:
        /secretstore\.key" is (empty|missing), and SecretStore "github" is sealed with it: restore it from your backup$/,
    });
    equal(await Deno.readTextFile(dir.secretKey).catch(() => "none"), before);
  }
});

Deno.test("init looks into no database while somebody else has the lock", async () => {
  await using temp = await tempDir();
  const dir = dataDirAt(join(temp.path, "data"));
  await init(dir);
  using _lock = await lockDataDir(dir, systemClock);
  await Deno.writeTextFile(dir.database, "in the middle of a write");
  deepEqual((await init(dir)).made, []);
  equal(await Deno.readTextFile(dir.database), "in the middle of a write");
});

Deno.test("a reader leaves the log of another program's connection in its place", async () => {
  await using temp = await tempDir();
  const dir = dataDirAt(join(temp.path, "data"));
  await init(dir);
  using other = new DatabaseSync(dir.database);
  checkDatabase(dir.database); // makes the log, and is not the last to close it
  other.exec("CREATE TABLE theirs (a)");
  checkDatabase(dir.database);
  deepEqual(rowsOf(dir.database, "SELECT count(*) AS n FROM theirs").map(({ n }) => Number(n)), [
    0,
  ]);
});
