/**
 * Uses of the keys of SecretStores, added up a trigger and key.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import type { KeyUse } from "../../../src/store/delivery_records.ts";
import { eachStore } from "./each_store.ts";

function use(more: Partial<KeyUse> = {}): KeyUse {
  return {
    project: "default",
    store: "github",
    key: "current",
    trigger: "push",
    count: 1,
    lastAt: 10,
    ...more,
  };
}

eachStore("recordKeyUse adds up, a trigger and key", async (store) => {
  await store.recordKeyUse([use(), use({ trigger: "release" }), use({ key: "previous" })]);
  await store.recordKeyUse([use({ count: 3, lastAt: 40 })]);
  await store.recordKeyUse([]);
  const uses = await store.listKeyUse("default", "github");
  deepEqual(
    uses.map(({ key, trigger, count, lastAt }) => [key, trigger, count, lastAt]).toSorted(),
    [["current", "push", 4, 40], ["current", "release", 1, 10], ["previous", "push", 1, 10]],
  );
});

eachStore("listKeyUse holds the keys of one SecretStore of one project", async (store) => {
  await store.recordKeyUse([use(), use({ store: "other" }), use({ project: "shop" })]);
  deepEqual(await store.listKeyUse("default", "github"), [use()]);
  deepEqual(await store.listKeyUse("default", "none"), []);
});
