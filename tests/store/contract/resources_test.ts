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

eachStore(
  "when the values of a SecretStore were set is kept beside its metadata",
  async (store) => {
    const secrets: Resource = {
      ...WORKSPACE,
      kind: "SecretStore",
      metadata: { description: "of the shop", labels: { values_changed_at: "a label" } },
      valuesChangedAt: { hook: [9, 4], other: [2] },
    };
    await store.changeResources([{ op: "put", resource: secrets }]);
    deepEqual(await store.loadResources(), [secrets]);
  },
);

eachStore("the version of the resources is that of the last change", async (store) => {
  const before = await store.resourceVersion();
  const after = await store.changeResources([{ op: "put", resource: WORKSPACE }]);
  ok(after >= before);
  equal(await store.resourceVersion(), after);
  await store.adoptResources(after);
  await store.awaitAdoption(after);
});

eachStore("changeResources refuses what was decided on an older version, whole", async (store) => {
  const put = (more: Partial<Resource>) =>
    store.changeResources([
      { op: "put", resource: { ...WORKSPACE, name: "beside" } },
      { op: "put", resource: { ...WORKSPACE, ...more } },
    ]);
  const refused = { code: "conflict", message: /workspace\/repo/ };
  await rejects(put({ generation: 2 }), refused, "of one that somebody has deleted");
  await store.changeResources([{ op: "put", resource: WORKSPACE }]);
  await rejects(put({}), refused, "made twice");
  await store.changeResources([{ op: "put", resource: { ...WORKSPACE, generation: 2 } }]);
  for (const generation of [1, 2, 4]) await rejects(put({ generation }), refused);
  await rejects(put({ generation: 3, createdAt: 9 }), refused, "of another with this name");
  deepEqual(await store.loadResources(), [{ ...WORKSPACE, generation: 2 }]);
});

eachStore("changeResources goes through its changes in their order", async (store) => {
  const put = (more: Partial<Resource> = {}) =>
    ({ op: "put", resource: { ...WORKSPACE, ...more } }) as const;
  await store.changeResources([put(), put({ generation: 2 })]);
  const anew = put({ createdAt: 7, spec: {} });
  await store.changeResources([{ op: "delete", key: WORKSPACE }, anew]);
  deepEqual(await store.loadResources(), [anew.resource]);
  await store.changeResources([
    put({ createdAt: 7, generation: 2 }),
    { op: "delete", key: WORKSPACE },
  ]);
  deepEqual(await store.loadResources(), []);
});
