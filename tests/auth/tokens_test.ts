/**
 * Tokens: what cannot be shown is not kept, and what an earlier version has kept breaks no list.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { setClock } from "../helpers/manual_clock.ts";
import { MAX_DURATION_SECS } from "../../src/base/duration.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { newToken } from "../../src/auth/tokens.ts";
import { type ControlRig, controlTest } from "../rigs/control_rig.ts";

const DAY = 86_400;

function create(rig: ControlRig, change: Readonly<Record<string, unknown>>) {
  const input = { role: "read_only", ttl_secs: DAY, name: "laptop", ...change };
  return rig.client.call("token.create", input as never);
}

async function listed(rig: ControlRig): Promise<readonly Record<string, unknown>[]> {
  const { items } = await rig.client.call("get", { what: "tokens", limit: 99 });
  return items as unknown as readonly Record<string, unknown>[];
}

const REFUSED: readonly (readonly [string, Record<string, unknown>])[] = [
  ["over the longest time", { ttl_secs: MAX_DURATION_SECS + 1 }],
  ["of 99999999 days", { ttl_secs: 99_999_999 * DAY }],
  ["of more seconds than can be counted", { ttl_secs: 2 ** 53 }],
  ["of no time", { ttl_secs: 0 }],
  ["of a time before now", { ttl_secs: -1 }],
  ["of half a second", { ttl_secs: 0.5 }],
  ["of a time that is a text", { ttl_secs: "30d" }],
  ["of a role there is none of", { role: "root" }],
  ["of a role in other letters", { role: "Admin" }],
  ["of the role that every object has", { role: "constructor" }],
  ["without a name", { name: "" }],
  ["with an escape sequence for a name", { name: "\x1b]52;c;eA==\x07" }],
  ["with a line break in its name", { name: "a\nb" }],
  ["with a C1 control character in its name", { name: "a\x9bb" }],
  ["with a mark that turns the line around", { name: "a\u202Eb" }],
  ["with half a character in its name", { name: "a\uD800" }],
  ["with a name of 101 characters", { name: "x".repeat(101) }],
];

controlTest("a token that cannot be is refused before anything of it is kept", async (rig) => {
  for (const [what, change] of REFUSED) {
    await rejects(create(rig, change), (error: Error & { code?: string }) => {
      match(error.code ?? "", /^(usage|invalid)$/, what);
      return true;
    }, what);
  }
  deepEqual(await listed(rig), []);
  const { items } = await rig.client.call("get", { what: "control-audit", limit: 99 });
  deepEqual(items, [], "nothing says of any that it was made");
});

controlTest("a token of the longest time is made and shown", async (rig) => {
  const made = await create(rig, { ttl_secs: MAX_DURATION_SECS, name: "日本 – laptop 😀" });
  match(made.expires_at, /^2[0-9]{3}-/);
  equal((await listed(rig))[0]?.["expires_at"], made.expires_at);
});

/**
 * What an earlier version took: `99999999d`, which no date holds, and `999999999d`, which no number
 * does.
 */
const TOO_LATE = ["86417637935999136", "604801763793599913"];

controlTest(
  "a token whose time cannot be shown is listed all the same, and can be revoked",
  async (rig) => {
    using db = new DatabaseSync(rig.dirs.database);
    const insert = db.prepare(
      `INSERT INTO control_tokens (id, hash, name, role, created_at, expires_at)
       VALUES (?, ?, 'old', 'admin', 1, ?)`,
    );
    for (const [n, ms] of TOO_LATE.entries()) insert.run(`01J${n}`, `hash${n}`, BigInt(ms));
    insert.run("01J9", "hash9", 8_641_763_793_599_913);
    const shown = await listed(rig);
    deepEqual(shown.map(({ id, expires_at: ends }) => [id, ends]), [
      ["01J9", "9999-12-31T23:59:59.999Z"],
      ["01J1", "9999-12-31T23:59:59.999Z"],
      ["01J0", "9999-12-31T23:59:59.999Z"],
    ]);
    equal((await rig.client.call("token.revoke", { id: "01J1" })).id, "01J1");
  },
);

Deno.test("a name is measured in characters, not in halves of them", () => {
  const host = {
    clock: setClock(1),
    newId: () => "01J",
    store: undefined as never,
    catalog: new Catalog(),
  };
  const { shown } = newToken({ role: "admin", ttlSecs: 1, name: "😀".repeat(100) }, host);
  equal(shown.expires_at, "1970-01-01T00:00:01.001Z");
});
