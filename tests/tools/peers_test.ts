import { deepStrictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { startServer } from "../../tools/bench/server_process.ts";
import { BODY, requestTo, SECRET, sendOne } from "../../tools/bench/site.ts";
import { ROOT } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";

Deno.test("the lean receiver stores what it accepts, and refuses a wrong signature", async () => {
  await using dir = await tempDir();
  const script = join(ROOT, "tools/bench/peers/group_commit.mjs");
  const args = ["run", "--quiet", "--no-config", "--allow-all", script];
  await using peer = await startServer(Deno.execPath(), {
    args: [...args, dir.path, SECRET, "x-webhook-signature"],
  });
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => sendOne(requestTo(peer.url, "accept"))),
  );
  const refused = await sendOne(requestTo(peer.url, "accept", true)).catch(String);
  equal(refused, 'Error: Answered 401: {"error":"the signature does not match"}');

  using db = new DatabaseSync(`${dir.path}/peer.db`, { readOnly: true });
  const sql =
    "SELECT t.id, d.body FROM tasks t JOIN deliveries d ON d.id = t.delivery ORDER BY t.id";
  const body = new TextEncoder().encode(BODY);
  const stored = answers.map(({ task }) => ({ id: task, body })).toSorted((a, b) =>
    String(a.id) < String(b.id) ? -1 : 1
  );
  equal(db.prepare(sql).all().map((row) => ({ ...row })), stored);
});
