/**
 * A backup that somebody has prepared: nothing that its schema says is evaluated before the schema
 * is known to be the one svc makes, no file keeps svc waiting, and whoever presses Ctrl-C waits for
 * no thread.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
  throws,
} from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../../src/base/clock.ts";
import { defined } from "../../src/base/defined.ts";
import { checkDatabase } from "../../src/store/sqlite/engine/check_version.ts";
import { backUpFile, checkWholeFile } from "../../src/store/sqlite/maintenance/run_job.ts";
import { createDatabase } from "../../src/store/sqlite/create_database.ts";
import { openStore } from "../../src/store/sqlite/open_store.ts";
import { backUp } from "../../src/upkeep/back_up.ts";
import { check } from "../../src/upkeep/check.ts";
import { restore } from "../../src/upkeep/restore.ts";
import { filesIn, finish, type UpkeepRig, upkeepRig } from "../rigs/upkeep_rig.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";

/** Whoever evaluates it fails, and SQLite then says that a number overflows. */
const OVERFLOW = "abs(-9223372036854775807 - 1)";
/** The same, where a value of a row decides. */
const ON_ROW = `abs(CASE a WHEN 'x' THEN -9223372036854775807 - 1 ELSE 1 END)`;

/** Tables of another program that have something to evaluate, with one row in each. */
const EVALUATED: readonly (readonly [what: string, sql: string])[] = [
  ["a check of a column", `CREATE TABLE z (a CHECK (${ON_ROW} > 0))`],
  ["a check of a table", `CREATE TABLE z (a, CHECK(${ON_ROW}))`],
  ["a check in brackets that begin a comment", `CREATE TABLE z (a, [b--] CHECK (${ON_ROW} > 0)\n)`],
  [
    "a check behind what looks like a text",
    `CREATE TABLE z (a, [it's] CHECK(${ON_ROW}), [it's too])`,
  ],
  ["a computed column", `CREATE TABLE z (a, b AS (${ON_ROW}) STORED)`],
  ["a computed column in long words", `CREATE TABLE z (a, b GENERATED ALWAYS AS (${ON_ROW}))`],
  ["an expression in an index", `CREATE TABLE z (a); CREATE INDEX zi ON z (${ON_ROW})`],
  ["an operator in an index", "CREATE TABLE z (a); CREATE INDEX zi ON z (a || a)"],
  ["words in an index", "CREATE TABLE z (a, b); CREATE INDEX zi ON z (a LIKE b)"],
  ["a partial index", `CREATE TABLE z (a); CREATE INDEX zi ON z (a) WHERE ${ON_ROW} > 0`],
  ["an expression as a default", `CREATE TABLE z (a, b DEFAULT (${OVERFLOW}))`],
  ["such a default behind a comment", `CREATE TABLE z (a, b DEFAULT /* */ (${OVERFLOW}))`],
  ["another program's collation", "CREATE TABLE z (a COLLATE NOCASE)"],
  ["a virtual table", "CREATE VIRTUAL TABLE z USING fts5(a)"],
];

/** Puts it into a file, and a row where its expressions do not refuse one. */
function spoil(file: string, sql: string): void {
  using db = new DatabaseSync(file);
  db.exec("PRAGMA ignore_check_constraints = ON");
  db.exec(sql);
  try {
    db.exec("INSERT INTO z (a) VALUES ('x')");
  } catch {
    // an index or a stored column evaluates itself
  }
}

async function copyOf(rig: UpkeepRig): Promise<string> {
  const file = join(rig.elsewhere, "copy.db");
  await finish(backUp({ file, force: false }, rig.dirs));
  return file;
}

/** Without what any reader of a database leaves beside it. */
const databasesIn = (path: string) => filesIn(path).filter((name) => !/-(shm|wal)$/.test(name));

const restoring = (rig: UpkeepRig, file: string, signal?: AbortSignal) =>
  restore({ file, cancelTasks: false, dropSecrets: false, revokeTokens: false }, {
    dirs: rig.dirs,
    clock: systemClock,
    ...defined({ signal }),
  });

for (const [index, [what, sql]] of EVALUATED.entries()) {
  const name = `${what} in a foreign table is refused, and evaluated by nobody`;
  Deno.test(skippable(name, index < 3 ? undefined : NOT_SLOW), async () => {
    await using rig = await upkeepRig();
    const file = await copyOf(rig);
    spoil(file, sql);
    const foreign = /^The (table|index) "zi?" .*was not made by svc/m;
    const { result } = await finish(check({ file, alone: true }, rig.dirs));
    match(result.faults.join("\n"), foreign);
    const refused = (error: Error & { details?: readonly string[] }) => {
      match(error.details?.join("\n") ?? error.message, foreign);
      return true;
    };
    await rejects(finish(restoring(rig, file)), refused);
    deepEqual(databasesIn(rig.dirs.root), ["svc.db"]);

    spoil(rig.dirs.database, sql);
    await rejects(finish(backUp({ file: `${file}2`, force: false }, rig.dirs)), refused);
    await rejects(openStore(rig.dirs.database), refused);
    deepEqual(filesIn(rig.elsewhere), ["copy.db"]);
  });
}

Deno.test("a plain table of another program is no fault, with any rows and defaults", async () => {
  await using rig = await upkeepRig();
  rig.change(`
    CREATE TABLE _lock (id INTEGER);
    INSERT INTO _lock VALUES (9223372036854775807);
    CREATE TABLE _seq (id INTEGER PRIMARY KEY, a TEXT NOT NULL DEFAULT 'x', b INT DEFAULT -1,
      c TEXT DEFAULT CURRENT_TIMESTAMP, UNIQUE (a, b)) STRICT;
    CREATE UNIQUE INDEX _seq_by_c ON _seq (c DESC, a)`);
  const { result } = await finish(check({ file: rig.dirs.database, alone: true }, rig.dirs));
  deepEqual(result.faults, []);
  const file = await copyOf(rig);
  equal((await finish(restoring(rig, file))).result.openTasks, 3);
  await using _store = await rig.open();
});

for (const version of [-1, -5, -2147483648]) {
  Deno.test(`a database of version ${version} is not one of svc, for every command that opens it`, async () => {
    await using rig = await upkeepRig();
    const file = await copyOf(rig);
    for (const path of [file, rig.dirs.database]) {
      using db = new DatabaseSync(path);
      db.exec(`PRAGMA user_version = ${version}`);
    }
    const { result } = await finish(check({ file, alone: true }, rig.dirs));
    deepEqual(result.faults, ["It is not a database of svc"]);
    await rejects(finish(restoring(rig, file)), { details: ["It is not a database of svc"] });
    const refused = { name: "AppError", code: "refused" };
    await rejects(openStore(rig.dirs.database), refused);
    await rejects(Promise.try(() => checkDatabase(rig.dirs.database)), refused);
    await rejects(Promise.try(() => createDatabase(rig.dirs.database, [])), refused);
    await rejects(finish(backUp({ file: `${file}2`, force: false }, rig.dirs)), refused);
  });
}

Deno.test("a database of the highest possible version is refused in time", async () => {
  await using rig = await upkeepRig();
  rig.change("PRAGMA user_version = 2147483647");
  const copying = finish(backUp({ file: join(rig.elsewhere, "copy.db"), force: false }, rig.dirs));
  await rejects(copying, (error: Error & { details?: readonly string[] }) => {
    match(String(error.details), /newer svc \(schema 2147483647/);
    return true;
  });
  await rejects(openStore(rig.dirs.database), { code: "refused" });
});

/** What is no file: nobody waits for it. */
const NO_FILES: readonly (readonly [what: string, make: (path: string) => Promise<unknown>])[] = [
  ["a pipe", (path) => new Deno.Command("mkfifo", { args: [path] }).output()],
  ["a directory", (path) => Deno.mkdir(path)],
  ["a link to a device", (path) => Deno.symlink("/dev/zero", path)],
];

for (const [what, make] of NO_FILES) {
  Deno.test(`${what} in the place of a database or a backup is refused at once`, async () => {
    await using rig = await upkeepRig();
    const file = join(rig.elsewhere, "copy.db");
    await make(file);
    const { result } = await finish(check({ file, alone: true }, rig.dirs));
    deepEqual(result.faults, ["It is not a file"]);
    await rejects(finish(restoring(rig, file)), { details: ["It is not a file"] });
    await Deno.remove(rig.dirs.database);
    await make(rig.dirs.database);
    const own = await finish(check({ file: rig.dirs.database, alone: true }, rig.dirs));
    deepEqual(own.result.faults, ["It is not a file"]);
    const noFile = { message: /is not a file: move it away/ };
    throws(() => checkDatabase(rig.dirs.database), noFile);
    await rejects(createDatabase(rig.dirs.database, []), noFile);
  });
}

/** A copy with so many rows that neither a check nor another copy of it is over at once. */
async function large(rig: UpkeepRig): Promise<string> {
  const file = await copyOf(rig);
  using db = new DatabaseSync(file);
  db.exec(`WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 200000)
    INSERT INTO task_ends SELECT x FROM c`);
  return file;
}

Deno.test("stopping a check, a restore or a copy does not wait for its thread", async () => {
  await using rig = await upkeepRig();
  const file = await large(rig);
  const stopped = { name: "AppError", message: /was stopped before it was done/ };
  for (const early of [true, false]) {
    const stop = new AbortController();
    if (early) stop.abort();
    const ends = [
      rejects(finish(checkWholeFile(file, false, stop.signal)), stopped),
      rejects(finish(restoring(rig, file, stop.signal)), stopped),
    ];
    stop.abort();
    await Promise.all(ends);
    deepEqual(databasesIn(rig.dirs.root), ["svc.db"]);
  }
  const to = join(rig.elsewhere, "part.db");
  await Deno.writeTextFile(to, "");
  const stop = new AbortController();
  const copying = backUpFile({ from: file, to }, stop.signal);
  equal((await copying.next()).done, false);
  stop.abort();
  await rejects(finish(copying), stopped);
});
