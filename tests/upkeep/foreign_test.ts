/**
 * A database that somebody has changed past svc: what is foreign in its schema, and rows that
 * cannot be read, are named by `svc db check`, keep a copy from being restored, and a daemon from
 * starting.
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
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../../src/base/clock.ts";
import { openStore } from "../../src/store/sqlite/open_store.ts";
import { check } from "../../src/upkeep/check.ts";
import { restore } from "../../src/upkeep/restore.ts";
import { controlRig } from "../rigs/control_rig.ts";
import { finish, type UpkeepRig, upkeepRig } from "../rigs/upkeep_rig.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";

async function faultsOf(rig: UpkeepRig): Promise<string> {
  const { result } = await finish(check({ file: rig.dirs.database, alone: true }, rig.dirs));
  return result.faults.join("\n");
}

/** Whatever an attacker or a curious hand may leave in the schema. */
const FOREIGN: readonly (readonly [name: string, sql: string, says: RegExp])[] = [
  [
    "a trigger that forgets what plugins did",
    `CREATE TRIGGER forget AFTER INSERT ON deliveries BEGIN DELETE FROM plugin_audit; END`,
    /^The trigger "forget" on "deliveries" was not made by svc: DROP TRIGGER "forget"$/,
  ],
  [
    "a view",
    "CREATE VIEW v AS SELECT * FROM tasks",
    /^The view "v" was not made by svc: DROP VIEW/,
  ],
  [
    "an index that lets no second delivery in",
    "CREATE UNIQUE INDEX one ON deliveries (project) WHERE id > '02'",
    /^The index "one" on "deliveries" was not made by svc: DROP INDEX "one"$/,
  ],
  [
    "a table that keeps tasks from being removed",
    "CREATE TABLE t (id TEXT REFERENCES tasks (id))",
    /^The table "t" was not made by svc$/,
  ],
  [
    "a column more",
    "ALTER TABLE tasks ADD COLUMN x TEXT",
    /^The table "tasks" is not as svc creates it$/,
  ],
  [
    "a column that is computed",
    "ALTER TABLE plans ADD COLUMN x TEXT AS (json_extract(plan, '$.y'))",
    /^The table "plans" is not as svc creates it$/,
  ],
  ["an index less", "DROP INDEX tasks_ready", /^The index "tasks_ready" on "tasks" is missing$/],
  ["a table less", "DROP TABLE inbox", /^The table "inbox" is missing/m],
  [
    "a schema of an earlier version than it says",
    "DROP INDEX tasks_ready; PRAGMA user_version = 1",
    /is not as svc creates it/,
  ],
];

for (const [index, [name, sql, says]] of FOREIGN.entries()) {
  const title = `check names ${name}, and the store does not open with it`;
  Deno.test(skippable(title, index < 3 ? undefined : NOT_SLOW), async () => {
    await using rig = await upkeepRig();
    rig.change(sql);
    match(await faultsOf(rig), says);
    await rejects(openStore(rig.dirs.database), (error: Error & Record<string, unknown>) => {
      equal(error["code"], "refused");
      match((error["details"] as string[]).join("\n"), says);
      return true;
    });
  });
}

/** Changes bytes of the file itself, as no statement may. */
async function patch(rig: UpkeepRig, from: string, to: string): Promise<void> {
  const bytes = Buffer.from(await Deno.readFile(rig.dirs.database));
  let changed = 0;
  for (let at = bytes.indexOf(from); at !== -1; at = bytes.indexOf(from, at + 1)) {
    bytes.write(to, at);
    changed++;
  }
  ok(changed > 0 && from.length === to.length);
  await Deno.writeFile(rig.dirs.database, bytes);
}

Deno.test("check names a trigger under a name that only SQLite gives", async () => {
  await using rig = await upkeepRig();
  rig.change("CREATE TRIGGER xqlite_stat1 AFTER INSERT ON deliveries BEGIN SELECT 1; END");
  await patch(rig, "xqlite_stat1", "sqlite_stat1");
  match(await faultsOf(rig), /The trigger "sqlite_stat1" on "deliveries" was not made by svc/);
});

Deno.test("check has nothing against what SQLite keeps about indexes, and blanks in the schema", async () => {
  await using rig = await upkeepRig();
  rig.change("ANALYZE");
  await patch(
    rig,
    "hash TEXT NOT NULL PRIMARY KEY, plan TEXT",
    "hash\nTEXT NOT NULL PRIMARY KEY,\nplan TEXT",
  );
  equal(await faultsOf(rig), "");
  await using _store = await rig.open();
});

Deno.test("check leaves a plain table of another program alone, and no virtual one", async () => {
  await using rig = await upkeepRig();
  rig.change("CREATE TABLE _other_seq (id INTEGER PRIMARY KEY, seq TEXT UNIQUE)");
  rig.change("CREATE INDEX _other_by_seq ON _other_seq (seq)");
  equal(await faultsOf(rig), "");
  {
    await using _store = await rig.open();
  }
  rig.change("CREATE VIRTUAL TABLE words USING fts5(x)");
  match(await faultsOf(rig), /^The table "words" was not made by svc$/m);
});

Deno.test("a copy with a foreign trigger is not restored", async () => {
  await using rig = await upkeepRig();
  const file = join(rig.elsewhere, "copy.db");
  await Deno.copyFile(rig.dirs.database, file);
  {
    using db = new DatabaseSync(file);
    db.exec("CREATE TRIGGER x BEFORE INSERT ON deliveries BEGIN SELECT raise(ABORT, 'no'); END");
  }
  const before = await Deno.readFile(rig.dirs.database);
  const request = { file, cancelTasks: false, dropSecrets: true, revokeTokens: false };
  await rejects(
    finish(restore(request, { dirs: rig.dirs, clock: systemClock })),
    (error: Error & { details?: readonly string[] }) => {
      match(
        `${error.message}: ${error.details}`,
        /cannot be restored.*trigger "x" on "deliveries"/,
      );
      return true;
    },
  );
  deepEqual(await Deno.readFile(rig.dirs.database), before);
});

/** Rows that nothing can read. */
const UNREADABLE: readonly (readonly [sql: string, says: RegExp])[] = [
  [
    "UPDATE resources SET spec = '{'",
    /^Row SecretStore\/default\/github of table resources does not hold JSON in "spec"$/,
  ],
  ["UPDATE resources SET metadata = '[]'", /of table resources does not hold JSON in "metadata"/],
  ["UPDATE resources SET spec = ''", /does not hold JSON in "spec"/],
  ["UPDATE resources SET spec = 'null'", /does not hold JSON in "spec"/],
  ["UPDATE resources SET spec = '{''a'':1}'", /does not hold JSON in "spec"/],
  ["UPDATE plans SET plan = 'x'", /^Row \S+ of table plans does not hold JSON in "plan"/],
  ["UPDATE deliveries SET detail = '{\"a\":}'", /^Row 01\S+ of table deliveries .* "detail"$/m],
  ["UPDATE deliveries SET headers = '7'", /of table deliveries does not hold JSON in "headers"/],
  ["INSERT INTO inbox VALUES ('T', 3, 'x', 1)", /^Row T\/3 of table inbox does not hold JSON/],
  [
    "INSERT INTO steps (task_id, position, id, state, reason, outputs) SELECT id, 0, 'a', 'failed', '', '{' FROM tasks LIMIT 1",
    /^Row 01J\w+\/0 of table steps does not hold JSON in "outputs"$/,
  ],
  [
    "UPDATE resources SET created_at = 9007199254740993",
    /^Row SecretStore\/default\/github of table resources holds a number that is too large$/,
  ],
  [
    "UPDATE tasks SET started_at = -9223372036854775808",
    /^Row 01J\w+ of table tasks holds a number/,
  ],
];

for (const [index, [sql, says]] of UNREADABLE.entries()) {
  Deno.test(
    skippable(`check names the row after ${sql}`, index < 3 ? undefined : NOT_SLOW),
    async () => {
      await using rig = await upkeepRig();
      rig.change(sql);
      match(await faultsOf(rig), says);
    },
  );
}

Deno.test("check takes JSON that is deeper than SQLite reads, and tokens of a version without a maximum", async () => {
  await using rig = await upkeepRig();
  const deep = "[".repeat(3000) + "]".repeat(3000);
  rig.change(`UPDATE deliveries SET detail = '{"x":${deep}}';
    INSERT INTO control_tokens (id, hash, name, role, created_at, expires_at)
      VALUES ('T', 'h', 'n', 'admin', 1, 9223372036854775807)`);
  equal(await faultsOf(rig), "");
});

Deno.test("check says of a SecretStore without values that it is damaged", async () => {
  await using rig = await upkeepRig();
  rig.change("UPDATE resources SET spec = '{}'");
  equal(await faultsOf(rig), 'The stored SecretStore "github" is damaged');
});

for (
  const [what, sql, says] of [
    [
      "a foreign trigger",
      "CREATE TRIGGER x AFTER INSERT ON tasks BEGIN SELECT 1; END",
      /not what svc created.*DROP TRIGGER "x"/,
    ],
    [
      "a resource that cannot be read",
      "INSERT INTO resources VALUES ('Trigger', 'default', 'push', '{}', '{', 1, 1, 1)",
      /Row "push" of the database does not hold JSON in "spec".*svc db check/,
    ],
  ] as const
) {
  Deno.test({
    name: `a daemon does not start on ${what}, and says what to do`,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const spoil = async ({ database }: { database: string }) => {
        using db = new DatabaseSync(database);
        await Promise.resolve(db.exec(sql));
      };
      await rejects(controlRig(spoil), (error: Error & { details?: readonly string[] }) => {
        match(`${error.message}: ${error.details}`, says);
        equal(error.cause, undefined, "no stack is shown");
        return true;
      });
    },
  });
}
