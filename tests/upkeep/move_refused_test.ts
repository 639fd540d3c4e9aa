/**
 * `svc db move`: what it refuses, with nothing changed; and a look that changes nothing either.
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
import { AppError } from "../../src/base/errors.ts";
import { systemClock } from "../../src/base/clock.ts";
import { lockDataDir } from "../../src/base/lock.ts";
import { newKeyFile } from "../../src/secrets/keyring.ts";
import { postgresTest } from "../helpers/postgres.ts";
import { type MoveRig, moveRig } from "../rigs/move_rig.ts";

/** What the data directory and the target hold. */
async function state(rig: MoveRig): Promise<unknown> {
  const tables = await rig.inTarget((db) =>
    db.all(
      `SELECT table_schema || '.' || table_name AS name FROM information_schema.tables
       WHERE table_schema IN ('svc', 'svc_jobs') ORDER BY 1`,
    )
  );
  return [
    await Deno.readFile(rig.dirs.database),
    [...Deno.readDirSync(rig.dirs.root)].map(({ name }) => name).toSorted(),
    tables,
  ];
}

async function refused(rig: MoveRig, pattern: RegExp, details: readonly RegExp[] = []) {
  const before = await state(rig);
  await rejects(rig.move(), (error: unknown) => {
    ok(error instanceof AppError, String(error));
    match(error.message, pattern);
    for (const detail of details) match(error.details.join("\n"), detail);
    return true;
  });
  deepEqual(await state(rig), before);
}

postgresTest("a dry run says what would move, and changes nothing", async () => {
  await using rig = await moveRig(3);
  rig.change(`UPDATE deliveries SET reason = 'a' || char(0) || 'b'
    WHERE id = (SELECT min(id) FROM deliveries)`);
  rig.change(`UPDATE tasks SET reason = CAST(x'61eda08062' AS TEXT)
    WHERE id = (SELECT min(id) FROM tasks)`);
  rig.change(`UPDATE tasks SET workflow = '\ud55c\uae00'`); // begins with the same byte, and is whole
  const before = await state(rig);
  const looked = await rig.move({ dryRun: true });
  deepEqual(await state(rig), before);
  deepEqual([looked.dryRun, looked.kept, looked.rows["tasks"]], [true, undefined, 3]);
  deepEqual(looked.texts, [
    { table: "deliveries", nul: 1, halves: 0 },
    { table: "tasks", nul: 0, halves: 1 },
  ]);
  const moved = await rig.move();
  deepEqual(moved.texts, looked.texts);
  const row = await rig.inTarget((db) =>
    db.get("SELECT reason FROM svc.deliveries ORDER BY id LIMIT 1")
  );
  equal(row?.["reason"], "a\u2400b");
}, { isLong: false });

postgresTest("a file that is damaged, older, used or sealed otherwise is refused", async () => {
  await using rig = await moveRig(1);
  {
    using _daemon = await lockDataDir(rig.dirs, systemClock);
    await refused(rig, /daemon/);
  }
  rig.change("INSERT INTO task_ends VALUES ('gone')");
  await refused(rig, /cannot be moved, nothing was changed/, [/tasks that do not exist: gone/]);
  rig.change("DELETE FROM task_ends");
  const key = await Deno.readTextFile(rig.dirs.secretKey);
  await Deno.writeTextFile(rig.dirs.secretKey, newKeyFile());
  await refused(rig, /cannot be moved, nothing was changed/, [/key/]);
  await Deno.writeTextFile(rig.dirs.secretKey, key);
  rig.change("PRAGMA user_version = 999");
  await refused(rig, /written by a newer svc/);
}, { isLong: false });

postgresTest(
  "a target with rows, of another schema, away or with a password is refused",
  async () => {
    await using rig = await moveRig(1);
    const inTarget = (sql: string) => rig.inTarget((db) => db.exec(sql));
    await inTarget("INSERT INTO svc.cursors VALUES ('cron', 1)");
    await refused(rig, /is in use.*empty database/, [/cursors: 1 row/]);
    await inTarget("DELETE FROM svc.cursors");
    const raise = (by: number) => `UPDATE svc.about SET version = version + ${by}`;
    await inTarget("INSERT INTO svc.about VALUES (0, '', '')");
    await inTarget("UPDATE svc.about SET version = 5");
    await refused(rig, /has the schema of another version of svc \(5/);
    await inTarget(raise(900));
    await refused(rig, /another version|newer svc/);
    await rejects(
      rig.move({ url: "postgres://svc:secret@localhost/svc" }),
      /holds a password, and other users/,
    );
    const away = new URL(rig.url);
    away.searchParams.set("host", rig.dirs.root);
    await rejects(rig.move({ url: away.href }), /cannot be reached|No PostgreSQL|socket/);
  },
  { isLong: false },
);

postgresTest("a user who may not make the schema is told so", async () => {
  await using rig = await moveRig(1);
  const role = `move_${crypto.randomUUID().replaceAll("-", "")}`;
  await rig.inTarget(async (db) => {
    await db.exec(
      `DROP SCHEMA svc CASCADE; DROP SCHEMA svc_jobs CASCADE; CREATE ROLE ${role} LOGIN`,
    );
  });
  const url = new URL(rig.url);
  url.username = role;
  try {
    const before = await state(rig);
    await rejects(rig.move({ url: url.href }), /right|may not|CREATE|grant/i);
    deepEqual(await state(rig), before);
  } finally {
    await rig.inTarget((db) => db.exec(`DROP ROLE ${role}`));
  }
});
