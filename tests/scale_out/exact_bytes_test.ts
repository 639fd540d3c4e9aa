/**
 * Bodies that PostgreSQL could not keep as texts, over HTTP to a daemon that shares a database: each
 * is stored and handed out byte for byte, by any of the daemons.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { dataDirAt } from "../../src/base/data_dir.ts";
import { joinDatabase, startDaemon } from "../helpers/daemon.ts";
import { trigger, workflow } from "../helpers/manifests.ts";
import { createTestDatabase, postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const MAX_BODY = 2 ** 20;

/** A body of exactly so many bytes. */
function filled(bytes: number): string {
  const around = '{"filler":"\\u0000"}'.length;
  return `{"filler":"${"x".repeat(bytes - around)}\\u0000"}`;
}

const BODIES: readonly string[] = [
  '{"nul":"a\\u0000b","\\u0000":1}',
  '{"half":"\\ud800","other":"\\udc00x","pair":"\\ud83d\\ude00","😀":"\u2028"}',
  ' {"spaces" : "kept" ,\r\n\t"twice":1, "twice":2, "number":1.0e2, "large":12345678901234567890}\n',
  filled(MAX_BODY),
];

postgresTest("bodies are handed out as they came, by each daemon", async () => {
  await using database = await createTestDatabase();
  await using temp = await tempDir();
  await using first = await joinDatabase(ONE_PROGRAM, { url: database.url, node: "a" });
  const keyFile = dataDirAt(first.path).secretKey;
  await using second = await joinDatabase(ONE_PROGRAM, { url: database.url, node: "b", keyFile });
  const args = ["--max-body", String(MAX_BODY)];
  await using a = await startDaemon(ONE_PROGRAM, { directory: first, args });
  await using b = await startDaemon(ONE_PROGRAM, { directory: second, args });
  await a.apply(
    workflow("keep", `cat "$SVC_PAYLOAD_FILE" >"${temp.path}/$SVC_DELIVERY_ID"`),
    trigger("keep", { workflow: "keep", webhook: { allowUnsigned: true } }),
  );
  const sent: [string, string][] = [];
  for (const body of BODIES) {
    const { status, json, text } = await a.send("/webhook/keep", { body });
    equal(status, 200, text);
    sent.push([String(json["delivery_id"]), body]);
  }
  const tooLarge = await a.send("/webhook/keep", { body: filled(MAX_BODY + 1) });
  equal(tooLarge.status, 413);
  const tasks = await a.settled();
  deepEqual(tasks.map(({ state }) => state), BODIES.map(() => "succeeded"));
  for (const [id, body] of sent) {
    for (const daemon of [a, b]) {
      const shown = await daemon.svc(["delivery", "show", id, "--body"]);
      equal(shown.code, 0, shown.stderr);
      ok(shown.stdout === body, `${body.slice(0, 60)}: ${shown.stdout.slice(0, 60)}`);
    }
    ok(await Deno.readTextFile(`${temp.path}/${id}`) === body, `the step's ${body.slice(0, 60)}`);
  }
});
