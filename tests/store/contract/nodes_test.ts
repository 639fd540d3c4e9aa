/**
 * The daemons that share the storage.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { accept } from "../../helpers/store_records.ts";
import { eachStore } from "./each_store.ts";

eachStore("listNodes gives the daemon that asks, which cannot forget itself", async (store) => {
  const [own, ...others] = await store.listNodes();
  deepEqual([own?.isAlive, own?.isSelf, own?.running, others], [true, true, 0, []]);
  for (const n of [1, 2]) await accept(store, n);
  await store.claimTasks(1, 5);
  deepEqual((await store.listNodes()).map(({ running }) => running), [1]);
  deepEqual([own?.isDrained, own?.facts.faults], [false, []]);
  await rejects(store.forgetNode(own?.id ?? ""), { code: "conflict" });
  await rejects(store.forgetNode("none"), { code: "not_found" });
});

eachStore("a node that nobody knows is not drained, and each may report itself", async (store) => {
  await rejects(store.drainNode("none", true), { name: "AppError" });
  await store.reportNode({ version: "1", policy: "", faults: [] });
  deepEqual((await store.listNodes()).map(({ isDrained }) => isDrained), [false]);
});
