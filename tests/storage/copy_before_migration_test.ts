/**
 * The copy of a database that is to be migrated: whole or not at all, one at a time, and nothing is
 * migrated without it.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { type DataDir, dataDirAt } from "../../src/base/data_dir.ts";
import { copyBeforeMigration } from "../../src/storage/copy_before_migration.ts";
import { openStorage } from "../../src/storage/open_storage.ts";
import { SCHEMA_VERSION } from "../../src/store/sqlite/engine/migrations.ts";
import { rekey } from "../../src/upkeep/rekey.ts";
import { ROOT, slowTest } from "../helpers/program.ts";
import { releasedData, writeReleased } from "../helpers/released_data.ts";
import { changeFile, rowsOf } from "../helpers/sqlite_file.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { finish } from "../rigs/upkeep_rig.ts";

const env = () => undefined;
const OLD = releasedData("file").filter(({ version }) => version < SCHEMA_VERSION);

/** A data directory of the oldest schema. */
async function oldDirectory(root: string): Promise<DataDir & { readonly version: number }> {
  const [oldest] = OLD;
  ok(oldest !== undefined);
  const dir = dataDirAt(root);
  await writeReleased(oldest, dir);
  return { ...dir, version: oldest.version };
}

const versionOf = (path: string) =>
  Number(rowsOf(path, "PRAGMA user_version")[0]?.["user_version"]);

/** Names beside the database, its log left out. */
const copiesIn = ({ root }: DataDir) =>
  [...Deno.readDirSync(root)].map(({ name }) => name).filter((name) => name.includes(".before-"))
    .toSorted();

for (const data of OLD) {
  Deno.test(`a database of schema ${data.version} is copied, then migrated with all its rows`, async () => {
    await using temp = await tempDir();
    const dir = dataDirAt(temp.path);
    await writeReleased(data, dir);
    const counted = (path: string) =>
      ["deliveries", "tasks", "steps", "resources", "dedup_keys"]
        .map((table) => rowsOf(path, `SELECT count(*) AS n FROM ${table}`)[0]?.["n"]);
    const before = counted(dir.database);
    const notes: string[] = [];
    {
      const onNote = (text: string) => notes.push(text);
      await using opened = await openStorage(dir, { env, run: "r", clock: systemClock, onNote });
      const { pending, queued, delayed, running } = await opened.store.counts();
      deepEqual([pending, queued, delayed, running], [4, 2, 1, 0]);
    }
    deepEqual(counted(dir.database), before);
    equal(versionOf(dir.database), SCHEMA_VERSION);
    const [name = "", ...others] = copiesIn(dir);
    deepEqual(others, []);
    match(name, /^svc\.db\.before-migration-20\d{6}T\d{6}Z$/);
    const copy = join(dir.root, name);
    deepEqual([versionOf(copy), counted(copy)], [data.version, before]);
    equal(((await Deno.stat(copy)).mode ?? 0) & 0o777, 0o600);
    deepEqual(notes, [
      `the database is migrated from schema ${data.version} to ${SCHEMA_VERSION}; ${copy} is a ` +
      "copy from before, for the old program",
    ]);
    await using _again = await openStorage(dir, { env, run: "r", clock: systemClock });
    deepEqual(copiesIn(dir), [name], "what is up to date is not copied");
  });
}

Deno.test("a copy takes the place of the one before, and of what was never finished", async () => {
  await using temp = await tempDir();
  const dir = await oldDirectory(temp.path);
  for (const end of ["20200102T030405Z", "20200102T030406Z.0a1b2c3d.part"]) {
    await Deno.writeTextFile(`${dir.database}.before-migration-${end}`, "");
  }
  await Deno.writeTextFile(`${dir.database}.before-restore-20200102T030405Z`, "");
  await copyBeforeMigration(dir, { clock: systemClock });
  const [copy = "", ...others] = copiesIn(dir);
  deepEqual(others, ["svc.db.before-restore-20200102T030405Z"]);
  equal(versionOf(join(dir.root, copy)), dir.version);
});

Deno.test("a change of the key copies the database before it migrates it", async () => {
  await using temp = await tempDir();
  const dir = await oldDirectory(temp.path);
  await Deno.mkdir(dir.controlPlane); // for the lock
  const notes: string[] = [];
  const host = { dirs: dir, env, clock: systemClock, onNote: (text: string) => notes.push(text) };
  await finish(rekey({ dryRun: true }, host));
  deepEqual([versionOf(dir.database), copiesIn(dir)], [dir.version, []]);
  const { result } = await finish(rekey({ dryRun: false }, host));
  deepEqual([result.values, notes.length], [1, 1]);
  const [copy = ""] = copiesIn(dir);
  deepEqual([versionOf(dir.database), versionOf(join(dir.root, copy))], [
    SCHEMA_VERSION,
    dir.version,
  ]);
});

Deno.test("without room for the copy nothing is migrated", async () => {
  await using temp = await tempDir();
  const dir = await oldDirectory(temp.path);
  const earlier = `${dir.database}.before-migration-20200102T030405Z`;
  await Deno.writeTextFile(earlier, "");
  const findSpace = () => Promise.resolve({ freeBytes: 2 ** 20, totalBytes: 2 ** 30 });
  await rejects(copyBeforeMigration(dir, { clock: systemClock, findSpace }), {
    code: "refused",
    message: new RegExp(
      `needs a migration from schema ${dir.version} to ${SCHEMA_VERSION} and a copy first, which ` +
        "takes 16\\.\\d MiB, but its disk has 1\\.0 MiB left: make room there and start again",
    ),
  });
  equal(versionOf(dir.database), dir.version);
  deepEqual(copiesIn(dir), ["svc.db.before-migration-20200102T030405Z"], "the one before stays");
});

Deno.test("a damaged database is neither copied nor migrated", async () => {
  await using temp = await tempDir();
  const dir = await oldDirectory(temp.path);
  changeFile(dir.database, "CREATE TABLE strangers (id TEXT CHECK (id <> ''))");
  await rejects(openStorage(dir, { env, run: "r", clock: systemClock }), {
    code: "refused",
    message: /cannot copy it first \(.*\): nothing was changed/,
  });
  deepEqual([versionOf(dir.database), copiesIn(dir)], [dir.version, []]);
});

/** Opens the storage of a data directory in a process of its own. */
function opening(root: string): Deno.ChildProcess {
  const from = (path: string) => JSON.stringify(join(ROOT, path));
  const program = `
    const { dataDirAt } = await import(${from("src/base/data_dir.ts")});
    const { systemClock } = await import(${from("src/base/clock.ts")});
    const { openStorage } = await import(${from("src/storage/open_storage.ts")});
    const dir = dataDirAt(${JSON.stringify(root)});
    await using _opened = await openStorage(dir, { env() {}, run: "r", clock: systemClock });`;
  return new Deno.Command(Deno.execPath(), {
    args: ["eval", "--unstable-worker-options", `--config=${ROOT}/deno.json`, program],
    stdout: "null",
    stderr: "inherit",
  }).spawn();
}

/** When a process is killed: how the names of the copies look then. */
const MOMENTS: readonly [what: string, isThere: (names: readonly string[]) => boolean][] = [
  ["while the copy is made", (names) => names.some((name) => name.endsWith(".part"))],
  ["once the copy has its name", (names) => names.some((name) => name.endsWith("Z"))],
];

for (const [what, isThere] of MOMENTS) {
  slowTest(`killed ${what}, a database is whole, and the next start migrates it`, async () => {
    await using temp = await tempDir();
    const dir = await oldDirectory(temp.path);
    changeFile(
      dir.database,
      `INSERT INTO plans SELECT 'plan ' || value, hex(randomblob(2000)) FROM (
         WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT 4000)
         SELECT value FROM n)`,
    );
    const plans = () => rowsOf(dir.database, "SELECT count(*) AS n FROM plans")[0]?.["n"];
    const before = plans();
    let killed = 0;
    for (let n = 0; n < 4 && versionOf(dir.database) === dir.version; n++) {
      const child = opening(dir.root);
      const ended = child.status;
      await until("the moment", () => isThere(copiesIn(dir)) || undefined);
      child.kill("SIGKILL");
      if ((await ended).signal === "SIGKILL") killed++;
      const version = versionOf(dir.database);
      ok([dir.version, SCHEMA_VERSION].includes(version), `schema ${version}`);
      equal(plans(), before);
      const whole = copiesIn(dir).filter((name) => name.endsWith("Z"));
      for (const name of whole) {
        const copy = join(dir.root, name);
        equal(versionOf(copy), dir.version);
        equal(rowsOf(copy, "PRAGMA integrity_check")[0]?.["integrity_check"], "ok");
      }
      ok(version === dir.version || whole.length === 1, "nothing is migrated without a copy");
      if (what.startsWith("once")) {
        for (const name of whole) await Deno.remove(join(dir.root, name));
      }
    }
    ok(killed > 0);
    await (await openStorage(dir, { env, run: "r", clock: systemClock }))[Symbol.asyncDispose]();
    deepEqual([versionOf(dir.database), plans()], [SCHEMA_VERSION, before]);
    equal(copiesIn(dir).filter((name) => !name.endsWith("Z")).length, 0, "no part is left");
  });
}
