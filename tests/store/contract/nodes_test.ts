/**
 * The daemons that share the storage.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { eachStore } from "./each_store.ts";

eachStore("listNodes gives the daemon that asks, which cannot forget itself", async (store) => {
  const [own, ...others] = await store.listNodes();
  deepEqual([own?.isAlive, others], [true, []]);
  await rejects(store.forgetNode(own?.id ?? ""), { code: "conflict" });
  await rejects(store.forgetNode("none"), { code: "not_found" });
});
