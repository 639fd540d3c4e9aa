/**
 * Steps that start tasks of other workflows, as a worker runs them.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { StaleResourcesError } from "../../src/store/stale_resources.ts";
import { PLAN, taskIdOf } from "../helpers/store_records.ts";
import { until } from "../helpers/until.ts";
import { manifestResources } from "../rigs/webhook_rig.ts";
import { claimAndCrash, testWithRig as test } from "../rigs/worker_rig.ts";

const BUILD = `
kind: Workflow
metadata: {name: build}
spec: {steps: [{id: x, run: "true"}]}
`;

test("a list goes on whose first items ended while nothing followed their ends", async (rig) => {
  const { store, catalog } = rig;
  catalog.change(manifestResources(BUILD).map((resource) => ({ op: "put", resource })));
  const list = '{id: all, workflow: build, forEach: "[1, 2, 3, 4]", maxParallel: 2}';
  const id = await rig.queue(1, `{steps: [${list}]}`);
  await claimAndCrash(rig);
  const now = Date.now();
  const names = { project: "default", trigger: "push", workflow: "build", workspace: "repo" };
  const place = { taskId: id, position: 0, round: 1 };
  await store.startChildren({
    wait: {
      ...place,
      project: "default",
      parts: [{
        kind: "task",
        dueAt: now + 3_600_000,
        isRelative: true,
        asked: { items: 4, maxParallel: 2 },
        shown: "[{}, {}, {}, {}]",
      }],
      now,
    },
    children: [2, 3].map((n, item) => ({
      item,
      inputs: {},
      task: { ...names, id: taskIdOf(n), plan: PLAN, followed: true },
    })),
    isShared: true,
    sharedAbove: [],
  });
  equal((await store.claimTasks(2, now)).tasks.length, 2);
  for (const n of [2, 3]) {
    await store.finishTask({ taskId: taskIdOf(n), state: "succeeded", reason: "", now });
    deepEqual(await store.endChild(taskIdOf(n), now), { parentId: id, isOver: false });
  }
  const worker = await rig.start();
  const all = await until("the other two", async () => {
    const found = await store.listChildren({ ...place, limit: 9 });
    return found.length === 4 ? found : undefined;
  });
  for (const child of all.slice(2)) {
    equal((await rig.ended(child.id)).state, "succeeded");
    await store.endChild(child.id, now);
  }
  worker.kick();
  equal((await rig.ended(id)).state, "succeeded");
});

test("children that were planned by resources of before are planned anew", async (rig) => {
  const { store, catalog } = rig;
  const put = (manifest: string, version: number) =>
    catalog.change(
      manifestResources(manifest).map((resource) => ({ op: "put", resource })),
      version,
    );
  put(BUILD, 1);
  const id = await rig.queue(1, "{steps: [{id: one, workflow: build}]}");
  const versions: (number | undefined)[] = [];
  const worker = await rig.start(1, {
    startChildren(asked) {
      versions.push(asked.resourceVersion);
      if (asked.resourceVersion !== 1) return store.startChildren(asked);
      put(BUILD.replace('"true"', '"echo by the new one"'), 2);
      return Promise.reject(new StaleResourcesError());
    },
  });
  const child = await until("the child", async () => {
    const [found] = await store.listChildren({ taskId: id, limit: 9 });
    return found;
  });
  await rig.ended(child.id);
  deepEqual(versions.slice(0, 2), [1, 2]);
  equal((await rig.printed(child.id)).out, "by the new one\n");
  await store.endChild(child.id, Date.now());
  worker.kick();
  equal((await rig.ended(id)).state, "succeeded");
});
