/**
 * Bearer tokens: found by the hash of their text, and never forgotten when they end.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import type { ControlToken } from "../../../src/store/audit_records.ts";
import { idOf } from "../../helpers/store_records.ts";
import { eachStore } from "./each_store.ts";

function token(n: number): ControlToken {
  return { id: idOf(n), name: `token ${n}`, role: "operator", createdAt: n, expiresAt: n + 100 };
}

eachStore(
  "a token is found by the hash of its text, also over a restart",
  async (store, tested) => {
    await store.createToken(token(1), "hash 1");
    await store.createToken(token(2), "hash 2");
    await store.createToken({ ...token(3), person: "ada" }, "hash 3");
    await store.createToken({ ...token(4), gateway: true }, "hash of a gateway");
    const again = await tested.restart();
    deepEqual(await again.findToken("hash 1"), token(1));
    equal(await again.findToken("hash 4"), undefined);
    const ofAda = { ...token(3), person: "ada" };
    deepEqual(await again.findToken("hash 3"), ofAda);
    const gateway = { ...token(4), gateway: true } as const;
    deepEqual(await again.findToken("hash of a gateway"), gateway);
    deepEqual(await again.listTokens(), [gateway, ofAda, token(2), token(1)], "newest first");
  },
);

eachStore("a hash belongs to one token", async (store) => {
  await store.createToken(token(1), "hash");
  await rejects(store.createToken(token(2), "hash"));
  deepEqual(await store.listTokens(), [token(1)]);
});

eachStore("revokeToken says when, once, and nothing of others", async (store) => {
  for (const n of [1, 2]) await store.createToken(token(n), `hash ${n}`);
  await store.revokeToken(idOf(1), 50);
  await store.revokeToken(idOf(1), 60);
  await store.revokeToken(idOf(3), 60);
  deepEqual(await store.listTokens(), [token(2), { ...token(1), revokedAt: 50 }]);
  equal((await store.findToken("hash 1"))?.revokedAt, 50);
});
