/**
 * What a backup brings back that the database it replaces had done away with: tokens, secrets,
 * suspended triggers, messages that were sent.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createKeyring } from "../../src/secrets/keyring.ts";
import { backUp } from "../../src/upkeep/back_up.ts";
import { restore, type RestoreRequest, type RestoreResult } from "../../src/upkeep/restore.ts";
import { setClock } from "../helpers/manual_clock.ts";
import { rowsOf } from "../helpers/sqlite_file.ts";
import { finish, type UpkeepRig, upkeepRig } from "../rigs/upkeep_rig.ts";
import { NOT_SLOW } from "../helpers/program.ts";
import { skippable } from "../helpers/requirements.ts";

const NOW = Date.parse("2026-01-02T03:04:05.678Z");
const LATER = NOW + 1000;

async function copyOf(rig: UpkeepRig, name = "copy.db"): Promise<string> {
  const file = join(rig.elsewhere, name);
  await finish(backUp({ file, force: false }, rig.dirs));
  return file;
}

async function restored(
  rig: UpkeepRig,
  file: string,
  more: Partial<RestoreRequest> = {},
): Promise<RestoreResult> {
  const request = { file, cancelTasks: false, dropSecrets: false, revokeTokens: false, ...more };
  return (await finish(restore(request, { dirs: rig.dirs, clock: setClock(NOW) }))).result;
}

function change(file: string, sql: string): void {
  using db = new DatabaseSync(file);
  db.exec(sql);
}

/** Makes a token `id` in a database; its hash is `id` with an `h` before it. */
function token(id: string, { role = "admin", until = LATER, revoked = "NULL" } = {}): string {
  return `INSERT INTO control_tokens (id, hash, name, role, created_at, expires_at, revoked_at) VALUES
    ('${id}', 'h${id}', 'for ${id}', '${role}', 1, ${until}, ${revoked});`;
}

/** Tokens of the database that nobody has revoked. */
const valid = (rig: UpkeepRig) =>
  rowsOf(
    rig.dirs.database,
    "SELECT id FROM control_tokens WHERE revoked_at IS NULL ORDER BY id",
  ).map(({ id }) => id);

const named = ({ findings }: RestoreResult) => findings.tokens.map(({ id }) => id);

Deno.test("restore keeps tokens revoked that were revoked since the backup, and names no valid one", async () => {
  await using rig = await upkeepRig();
  rig.change(token("A") + token("B") + token("C", { revoked: "5" }));
  const file = await copyOf(rig);
  rig.change("UPDATE control_tokens SET revoked_at = 7 WHERE id = 'B'");
  const result = await restored(rig, file);
  deepEqual([named(result), result.findings.revoked], [[], 1]);
  deepEqual(valid(rig), ["A"]);
  deepEqual(
    rowsOf(rig.dirs.database, "SELECT revoked_at AS at FROM control_tokens ORDER BY id")
      .map(({ at }) => at),
    [null, 7, 5],
  );
});

Deno.test("restore keeps a revocation also for the restore of another backup after it", async () => {
  await using rig = await upkeepRig();
  const before = await copyOf(rig, "before.db");
  rig.change(token("A"));
  const after = await copyOf(rig, "after.db");
  rig.change("UPDATE control_tokens SET revoked_at = 7");
  await restored(rig, before);
  await restored(rig, after);
  deepEqual(valid(rig), []);
});

/** What somebody may have done to the tokens of a backup; `A` is valid, `R` revoked, `E` ended. */
const PREPARED:
  readonly (readonly [what: string, sql: string, named: string[], valid: string[]])[] = [
    ["a token of his own", token("X"), ["X"], ["A", "E", "X"]],
    ["another text for a token", "UPDATE control_tokens SET hash = 'mine' WHERE id = 'A'", ["A"], [
      "A",
      "E",
    ]],
    ["another role", "UPDATE control_tokens SET role = 'admin' WHERE id = 'A'", ["A"], ["A", "E"]],
    ["a later end", `UPDATE control_tokens SET expires_at = ${LATER} WHERE id = 'E'`, ["E"], [
      "A",
      "E",
    ]],
    ["a later end than there is", "UPDATE control_tokens SET expires_at = 9223372036854775807", [
      "A",
      "E",
    ], ["A", "E"]],
    ["no revocation", "UPDATE control_tokens SET revoked_at = NULL WHERE id = 'R'", [], ["A", "E"]],
    [
      "the text of a revoked token under another id",
      "UPDATE control_tokens SET id = 'X', revoked_at = NULL WHERE id = 'R'",
      [],
      ["A", "E"],
    ],
    [
      "another text under the id of a revoked one",
      "UPDATE control_tokens SET hash = 'mine', revoked_at = NULL WHERE id = 'R'",
      [],
      ["A", "E"],
    ],
  ];

for (const [index, [what, sql, expected, left]] of PREPARED.entries()) {
  const name = `restore of a backup that somebody gave ${what}`;
  Deno.test(skippable(name, index < 3 ? undefined : NOT_SLOW), async () => {
    await using rig = await upkeepRig();
    rig.change(
      token("A", { role: "operator" }) + token("E", { until: NOW - 1 }) +
        token("R", { revoked: "5" }),
    );
    const file = await copyOf(rig);
    change(file, sql);
    const result = await restored(rig, file);
    deepEqual(named(result), expected);
    deepEqual(valid(rig), left);
  });
}

Deno.test(
  skippable("restore where no old database can be asked names every token that is valid", NOT_SLOW),
  async () => {
    for (
      const spoil of [
        (path: string) => Deno.remove(path),
        (path: string) => Deno.writeTextFile(path, "damaged ".repeat(2000)),
      ]
    ) {
      await using rig = await upkeepRig();
      rig.change(token("A") + token("B", { revoked: "5" }) + token("E", { until: NOW - 1 }));
      const file = await copyOf(rig);
      await spoil(rig.dirs.database);
      const result = await restored(rig, file);
      deepEqual([named(result), result.findings.compared, result.secrets], [["A"], false, []]);
    }
  },
);

Deno.test("restore asks an old database of an earlier version, too, and a copy of one", async () => {
  await using rig = await upkeepRig();
  rig.change(token("A") + token("B"));
  const file = await copyOf(rig);
  rig.change(`UPDATE control_tokens SET revoked_at = 7 WHERE id = 'B';
    DROP TABLE outbox; DROP TABLE connections`);
  const result = await restored(rig, file);
  deepEqual([named(result), result.findings.compared, valid(rig)], [[], true, ["A"]]);
});

Deno.test(
  skippable("restore revokes every token of the backup, if it is told to", NOT_SLOW),
  async () => {
    await using rig = await upkeepRig();
    rig.change(token("A") + token("B") + token("C", { revoked: "5" }));
    const file = await copyOf(rig);
    rig.change("UPDATE control_tokens SET revoked_at = 7 WHERE id = 'B'");
    const result = await restored(rig, file, { revokeTokens: true });
    deepEqual([named(result), result.findings.revoked, valid(rig)], [[], 2, []]);
    await Deno.remove(rig.dirs.database);
    const again = await restored(rig, file, { revokeTokens: true });
    deepEqual([named(again), again.findings.revoked, valid(rig)], [[], 2, []]);
  },
);

Deno.test("restore leaves a row in the audit that names the file by its digest", async () => {
  await using rig = await upkeepRig();
  const file = await copyOf(rig);
  const sha256 = createHash("sha256").update(await Deno.readFile(file)).digest("hex");
  equal((await restored(rig, file)).sha256, sha256);
  await using store = await rig.open();
  const [row] = await store.listControl({ limit: 10 });
  deepEqual(
    [row?.operation, row?.target, row?.caller, row?.role, row?.result, row?.createdAt],
    ["db.restore", `${file} sha256:${sha256}`, "files", "admin", "done", NOW],
  );
});

/** A SecretStore with these values, sealed with the key of the directory, as SQL. */
async function secretStore(
  rig: UpkeepRig,
  name: string,
  generation: number,
  values: Readonly<Record<string, string>>,
): Promise<string> {
  const keyring = await createKeyring(await Deno.readTextFile(rig.dirs.secretKey));
  const data: Record<string, string> = {};
  for (const [key, value] of Object.entries(values)) {
    const place = { project: "default", store: name, key, createdAt: 1, generation };
    data[key] = await keyring.seal(place, value);
  }
  return `INSERT OR REPLACE INTO resources VALUES
    ('SecretStore', 'default', '${name}', '{}', '${
    JSON.stringify({ data })
  }', ${generation}, 1, 1);`;
}

Deno.test("restore names the secrets that were changed, added or removed since, and no others", async () => {
  await using rig = await upkeepRig();
  const old = { same: "same", rotated: "leaked", removed: "gone" };
  rig.change(
    await secretStore(rig, "keys", 1, old) + await secretStore(rig, "lost", 1, { a: "a" }),
  );
  const file = await copyOf(rig);
  rig.change(
    await secretStore(rig, "keys", 2, { same: "same", rotated: "fresh", added: "new" }) +
      "DELETE FROM resources WHERE name = 'lost'",
  );
  deepEqual((await restored(rig, file)).secrets, [
    "default/keys added",
    "default/keys removed",
    "default/keys rotated",
    "default/lost a",
  ]);
});

Deno.test("restore names the triggers that were suspended or deleted since", async () => {
  await using rig = await upkeepRig();
  const trigger = (name: string, suspend: boolean) =>
    `INSERT OR REPLACE INTO resources VALUES ('Trigger', 'default', '${name}', '{}',
      '${JSON.stringify({ event: { source: "webhook" }, suspend })}', 1, 1, 1);`;
  rig.change(
    trigger("active", false) + trigger("suspended", false) + trigger("deleted", false) +
      trigger("long", true),
  );
  const file = await copyOf(rig);
  rig.change(trigger("suspended", true) + "DELETE FROM resources WHERE name = 'deleted'");
  deepEqual((await restored(rig, file)).findings.resumed, [
    "default/deleted",
    "default/suspended",
  ]);
});

Deno.test("restore sends no message again that was sent or given up since, and counts what waits", async () => {
  await using rig = await upkeepRig();
  const pending = ["dropped", "new", "sent", "tried"];
  const held = ["held", "released", "unwanted"];
  for (const id of [...pending, ...held]) {
    rig.change(
      `INSERT INTO outbox VALUES ('${id}', 'default', 'c', 'slack-post', '{}', '', '{}', '',
      'lane', '${held.includes(id) ? "held" : "pending"}', 0, 0, NULL, NULL, '', '', 1, 1);
      INSERT INTO outbox_content VALUES ('${id}', 'pack', 0, x'00')`,
    );
  }
  const file = await copyOf(rig);
  rig.change(`
    UPDATE outbox SET state = 'sent', tries = 1, external_id = '17', updated_at = 9
      WHERE id = 'sent';
    UPDATE outbox SET state = 'dropped', reason = 'by an operator' WHERE id = 'dropped';
    UPDATE outbox SET state = 'sent', tries = 1, external_id = '18' WHERE id = 'released';
    UPDATE outbox SET state = 'dropped' WHERE id = 'unwanted';
    UPDATE outbox SET tries = 2, uncertain_since = 8, next_at = 9 WHERE id = 'tried'`);
  const { findings } = await restored(rig, file);
  equal(findings.pendingMessages, 2);
  deepEqual(
    rowsOf(
      rig.dirs.database,
      "SELECT id, state, tries, uncertain_since AS since, external_id AS at FROM outbox ORDER BY id",
    ).map((row) => Object.values(row)),
    [
      ["dropped", "dropped", 0, null, ""],
      ["held", "held", 0, null, ""],
      ["new", "pending", 0, null, ""],
      ["released", "sent", 1, null, "18"],
      ["sent", "sent", 1, null, "17"],
      ["tried", "pending", 2, 8, ""],
      ["unwanted", "dropped", 0, null, ""],
    ],
  );
  deepEqual(
    rowsOf(rig.dirs.database, "SELECT message_id AS id FROM outbox_content ORDER BY 1")
      .map(({ id }) => id),
    ["held", "new", "tried"],
  );
});

Deno.test("what tasks have stored against limits since the backup counts on", async () => {
  await using rig = await upkeepRig();
  rig.change(
    "INSERT INTO outputs VALUES ((SELECT min(id) FROM tasks), 'push', 'a', 1, 'o/r#1', 1, 1)",
  );
  const file = await copyOf(rig);
  rig.change(`
    INSERT INTO outputs VALUES ((SELECT min(id) FROM tasks), 'push', 'b', 2, 'o/r#1', 2, 2);
    INSERT INTO outputs VALUES ('since', 'push', 'c', 3, 'o/r#1', 3, 3)`);
  await restored(rig, file);
  deepEqual(
    rowsOf(rig.dirs.database, "SELECT unit, number, round FROM outputs ORDER BY unit")
      .map((row) => Object.values(row)),
    [["a", 1, 1], ["b", 2, 2]],
  );
});

Deno.test("a restore that is refused leaves no row, and the old tokens as they are", async () => {
  await using rig = await upkeepRig();
  rig.change(token("A"));
  const file = await copyOf(rig);
  change(file, "CREATE VIEW v AS SELECT 1");
  const refusal = await restored(rig, file, { revokeTokens: true }).then(() => "", String);
  match(refusal, /cannot be restored, nothing was changed/);
  deepEqual(valid(rig), ["A"]);
  deepEqual(rowsOf(rig.dirs.database, "SELECT id FROM control_audit"), []);
});
