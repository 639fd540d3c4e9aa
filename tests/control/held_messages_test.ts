/**
 * Messages that are held for a person, through the control plane.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { Client } from "../../src/api/client.ts";
import { connect } from "../../src/api/client.ts";
import { idOf } from "../helpers/store_records.ts";
import { controlTest } from "../rigs/control_rig.ts";

const [HELD, OTHER, PLAIN, GONE] = [1, 2, 3, 4].map(idOf) as [string, string, string, string];
const WHY = "1 file is protected (package.json)";
const PATCH = `diff --git a/é b/é\n--- a/é\n+++ b/é\n@@ -1 +1 @@\n-a\n+b${"ü".repeat(70_000)}\n`;
/** What only a kind that this version does not know can send: nothing leaves this test. */
const KIND = "for-tests";

async function prepare({ database }: { readonly database: string }): Promise<void> {
  await Promise.resolve();
  using db = new DatabaseSync(database);
  const created = Date.now();
  const add = db.prepare(
    `INSERT INTO outbox (id, project, connection, kind, target, key, body, task_id, lane, state,
       reason, next_at, created_at, updated_at)
     VALUES (?, 'default', 'c', ?, '{"repository":"o/r"}', '', ?, '01TASK', 'l', ?, ?, ?, ?, ?)`,
  );
  const body = JSON.stringify({ title: "t", commit: "c", files: 1, added: 1, removed: 1 });
  const rows = [[HELD, "held"], [OTHER, "held"], [PLAIN, "held"], [GONE, "dropped"]] as const;
  for (const [id, state] of rows) {
    const nextAt = state === "held" ? created + 6 * 86_400_000 : 0;
    add.run(id, id === GONE ? "github-pull" : KIND, body, state, WHY, nextAt, created, created);
  }
  const bytes = new TextEncoder().encode(PATCH);
  const pieces = [bytes.slice(0, 12), bytes.slice(12, 90_001), bytes.slice(90_001)]; // within an é
  for (const id of [HELD, OTHER]) {
    pieces.forEach((piece, at) =>
      db.prepare("INSERT INTO outbox_content VALUES (?, 'patch', ?, ?)").run(id, at, piece)
    );
  }
}

const state = async (client: Client, id: string) =>
  (await client.call("get", { what: "outbox", name: id })).items[0] as Record<string, unknown>;

controlTest("a held message is looked at, and sent or dropped by a person", async (rig) => {
  const { client } = rig;
  equal((await client.call("status", {})).outbox.held, 3);
  const waited = [];
  for await (const status of client.stream("outbox.wait", { id: HELD })) waited.push(status.state);
  deepEqual(waited, ["held"], "it waits for nobody who is not there");

  const parts: string[] = [];
  for await (const { text } of client.stream("outbox.diff", { id: HELD })) parts.push(text);
  equal(parts.join(""), PATCH);
  equal(parts.every(({ length }) => length <= 64 * 1024), true);

  const view = await state(client, HELD);
  deepEqual([view["state"], view["reason"], view["next_at"]], ["held", WHY, null]);
  const left = Date.parse(String(view["held_until"])) - Date.parse(String(view["created_at"]));
  equal(left, 7 * 86_400_000);

  await rejects(client.call("outbox.retry", { id: HELD }), /is held: svc outbox send/);
  equal((await client.call("outbox.send", { id: HELD })).state, "pending");
  await rejects(client.call("outbox.send", { id: HELD }), /is not held: it is /);
  equal((await client.call("outbox.drop", { id: OTHER })).state, "dropped");
  await rejects(client.call("outbox.send", { id: OTHER }), /it is dropped \(dropped by hand\)/);
  equal((await client.call("status", {})).outbox.held, 1);
  const { items } = await client.call("get", { what: "control-audit", limit: 9 });
  deepEqual(
    (items as unknown as Record<string, unknown>[]).map((row) =>
      [row["operation"], row["target"], row["result"]].join(" ")
    ),
    [
      `outbox.send outbox/${OTHER} failed`,
      `outbox.send outbox/${HELD} failed`,
      `outbox.send outbox/${HELD} done`,
    ],
  );
}, { prepare });

controlTest("what has no change, or none any more, says so", async ({ client }) => {
  const diff = async (id: string) => {
    for await (const _part of client.stream("outbox.diff", { id }));
  };
  await rejects(diff(PLAIN), /\(for-tests\) changes no files/);
  await rejects(diff(GONE), /The change of outbox\/.* was deleted when it was dropped/);
  await rejects(client.call("outbox.retry", { id: GONE }), {
    code: "conflict",
    message: /would send was deleted when it was dropped: run its task again, .* retry 01TASK"/,
  });
  equal((await state(client, GONE))["state"], "dropped");
}, { prepare });

controlTest("a reader may look at a held message, and not send it", async (rig) => {
  const { token } = await rig.client.call("token.create", {
    role: "read_only",
    ttl_secs: 60,
    name: "reader",
  });
  using reader = connect({ socket: rig.dirs.socket }, token);
  await rejects(reader.call("outbox.send", { id: HELD }), { code: "forbidden" });
  let read = "";
  for await (const { text } of reader.stream("outbox.diff", { id: HELD })) read += text;
  equal(read, PATCH);
  equal((await state(rig.client, HELD))["state"], "held");
}, { prepare });
