/**
 * Resources: changed together or not at all.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { Resource } from "../../../src/resources/resource.ts";
import { eachStore } from "./each_store.ts";

const WORKSPACE: Resource = {
  kind: "Workspace",
  project: "default",
  name: "repo",
  metadata: { labels: { a: "b" } },
  spec: { path: "x", deep: [{ n: 1, none: null, "": false }] },
  generation: 1,
  createdAt: 1,
  updatedAt: 2,
};

eachStore("changeResources makes all changes or none", async (store) => {
  const named = (name: string): Resource => ({ ...WORKSPACE, name });
  await store.changeResources(["a", "b"].map((name) => ({ op: "put", resource: named(name) })));
  const bad: Resource = { ...named("c"), spec: { n: 1n } };
  await rejects(store.changeResources([
    { op: "delete", key: named("a") },
    { op: "put", resource: named("d") },
    { op: "put", resource: bad },
  ]));
  deepEqual((await store.loadResources()).map(({ name }) => name).toSorted(), ["a", "b"]);
  await store.changeResources([
    { op: "delete", key: named("a") },
    { op: "delete", key: named("nobody") },
    { op: "put", resource: { ...named("b"), generation: 2, updatedAt: 9 } },
    { op: "put", resource: { ...WORKSPACE, project: "shop" } },
    { op: "put", resource: { ...WORKSPACE, kind: "Project", project: "" } },
  ]);
  const all = await store.loadResources();
  equal(all.length, 3);
  deepEqual(all.find(({ name }) => name === "b"), { ...named("b"), generation: 2, updatedAt: 9 });
  deepEqual(all.find(({ project }) => project === "shop"), { ...WORKSPACE, project: "shop" });
});

eachStore("the version of the resources is that of the last change", async (store) => {
  const before = await store.resourceVersion();
  const after = await store.changeResources([{ op: "put", resource: WORKSPACE }]);
  ok(after >= before);
  equal(await store.resourceVersion(), after);
  await store.adoptResources(after);
});
