/**
 * `svc db move`: what it refuses, with nothing changed; and a look that changes nothing either.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  doesNotMatch,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import { systemClock } from "../../src/base/clock.ts";
import { lockDataDir } from "../../src/base/lock.ts";
import { openPostgresStore } from "../../src/store/postgres/open_store.ts";
import { newKeyFile } from "../../src/secrets/keyring.ts";
import { postgresTest } from "../helpers/postgres.ts";
import { startPostgres } from "../helpers/postgres_server.ts";
import { releasedData, writeReleased } from "../helpers/released_data.ts";
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

postgresTest("a target that a daemon uses, and the one it has moved to, are refused", async () => {
  await using rig = await moveRig(1);
  const other = { url: rig.url, owner: { node: "other", run: "1" }, name: "two" };
  {
    await using _daemon = await openPostgresStore({ ...other, clock: systemClock });
    await refused(rig, /is in use.*empty database/, [/nodes: 1 row/]);
  }
  await refused(rig, /is in use.*empty database/, [/nodes: 1 row/]); // it has stopped, and comes back
  await rig.inTarget((db) => db.exec("DELETE FROM svc.nodes"));
  await rig.move();
  await rejects(rig.move(), /has its database in PostgreSQL already: ".*database\.url" names it/);
  await using second = await moveRig(1, { url: rig.url });
  await rejects(second.move(), /is in use/);
}, { isLong: false });

postgresTest("a file of an earlier release is refused, and stays as it is", async () => {
  for (const release of releasedData("file")) {
    await using rig = await moveRig(0);
    for (const suffix of ["-wal", "-shm", ""]) {
      await Deno.remove(rig.dirs.database + suffix).catch(() => {});
    }
    await writeReleased(release, rig.dirs);
    await refused(
      rig,
      new RegExp(
        `schema of an earlier svc \\(${release.version}, .*start this version's daemon once`,
      ),
    );
  }
}, { isLong: false });

postgresTest("a password that is wrong is not shown", async () => {
  await using server = await startPostgres();
  await server.sql((db) => db.exec("CREATE ROLE anna LOGIN PASSWORD 'right'"));
  await server.shell(`printf '%s\\n' 'local all all trust' \\
    'host all anna 127.0.0.1/32 scram-sha-256' >pg_hba.conf`);
  await server.sql((db) => db.exec("SELECT pg_reload_conf()"));
  const url = `postgres://anna@127.0.0.1:${server.port}/postgres`;
  await using rig = await moveRig(1, { url });
  const passwords = `${rig.elsewhere}/passwords`;
  await Deno.writeTextFile(passwords, "*:*:*:anna:mistyped\n", { mode: 0o600 });
  Deno.env.set("MOVE_TEST_PGPASSFILE", passwords);
  using _env = { [Symbol.dispose]: () => Deno.env.delete("MOVE_TEST_PGPASSFILE") };
  for (
    const [to, says] of [
      [url, /refuses the password of user "anna"/],
      [url.replace("anna", "anna:mistyped"), /holds a password, and other users/],
    ] as const
  ) {
    await rejects(rig.move({ url: to }), (error: unknown) => {
      ok(error instanceof AppError, String(error));
      match(error.message, says);
      doesNotMatch(Deno.inspect(error), /mistyped/);
      return true;
    });
  }
});

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
    await rejects(rig.move({ url: url.href }), /may not .*'GRANT CREATE ON DATABASE/);
    deepEqual(await state(rig), before);
    await using other = await moveRig(0); // with a schema, of another user
    const theirs = new URL(other.url);
    theirs.username = role;
    await other.inTarget((db) =>
      db.exec(
        `GRANT USAGE ON SCHEMA svc, svc_jobs TO ${role};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA svc, svc_jobs TO ${role}`,
      )
    );
    await rejects(
      other.move({ url: theirs.href }),
      /may not do that in .*: give the address of the owner.* nothing was changed/,
    );
    await other.inTarget((db) => db.exec(`DROP OWNED BY ${role}`));
  } finally {
    await rig.inTarget((db) => db.exec(`DROP ROLE ${role}`));
  }
});
