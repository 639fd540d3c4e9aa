/**
 * `retryTask`: a new task that does again what an ended one did, with room like any other.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import type { NewTask, Task } from "../../../src/store/task_records.ts";
import { accept, idOf, retry, step, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore } from "./each_store.ts";

const claim = async (store: Store) =>
  (await store.claimTasks(99, 1)).tasks.map(({ task }) => task.id);

const read = async (store: Store, n: number): Promise<Task | undefined> =>
  (await store.findTasks(taskIdOf(n)))[0];

/** Stores task `n` and ends it. */
async function ended(store: Store, n: number, task: Partial<NewTask> = {}): Promise<void> {
  await accept(store, n, { task });
  await store.claimTasks(99, 1);
  await store.finishTask({ taskId: taskIdOf(n), state: "failed", reason: "why", now: 9 });
}

eachStore(
  "retryTask copies what the old task was, and keeps the steps it is told to",
  async (store) => {
    await ended(store, 1, { parentId: "parent", depth: 3, payload: new Uint8Array([123, 125]) });
    const kept = [{ ...step(0, "succeeded"), outputs: { version: "7" }, attempt: 2 }];
    const task = await retry(store, 2, 1, { kept });
    deepEqual(task, {
      id: taskIdOf(2),
      project: "default",
      trigger: "push",
      workflow: "ci",
      workspace: "repo",
      rootId: "",
      state: "pending",
      reason: "",
      deliveryId: idOf(1),
      createdAt: 502,
      restarts: 0,
      parentId: "parent",
      retryOf: taskIdOf(1),
      retriedBy: { called: "ada" },
      depth: 3,
      directory: "",
      cancelReason: "",
      activeMs: 0,
      readiness: { is: "ready" },
      steps: [kept[0], { position: 1, id: "deploy", state: "pending", reason: "" }],
    });
    const { tasks: [claimed] } = await store.claimTasks(9, 5);
    deepEqual([...claimed?.payload ?? []], [123, 125]);
    deepEqual(claimed?.headers, { "x-n": "1" });
    equal((await read(store, 1))?.state, "failed", "the old one stays what it is");
  },
);

eachStore(
  "retryTask refuses what has not ended, what is not there and what cannot run",
  async (store) => {
    await accept(store, 1);
    await rejects(retry(store, 2, 1), { code: "conflict" });
    await store.claimTasks(1, 1);
    await rejects(retry(store, 2, 1), { code: "conflict" });
    await rejects(retry(store, 2, 9), { code: "not_found" });
    await accept(store, 3, { plan: undefined });
    await rejects(retry(store, 2, 3), { code: "conflict" });
    equal((await store.listTasks({ limit: 9 })).length, 2);
  },
);

eachStore("retryTask runs what had no plan with the one it is given", async (store) => {
  await accept(store, 1, { plan: undefined });
  const plan = { hash: "h9", json: '{"steps":[{"id":"now"}]}' };
  const planned = { workflow: "renamed", workspace: "w2", plan, workspaceMax: 1 };
  const task = await retry(store, 2, 1, { planned });
  deepEqual([task.workflow, task.workspace, task.steps.map(({ id }) => id)], [
    "renamed",
    "w2",
    ["now"],
  ]);
  await retry(store, 3, 1, { planned });
  deepEqual(await claim(store), [taskIdOf(2)], "the workspace has room for one");
});

eachStore("retryTask moves the directory where it is to go on in it", async (store) => {
  await accept(store, 1);
  await store.claimTasks(1, 1);
  await store.setTaskDirectory(taskIdOf(1), "/data/worktrees/1");
  await store.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: 9 });
  equal((await retry(store, 2, 1)).directory, "");
  equal((await read(store, 1))?.directory, "/data/worktrees/1");
  equal(
    (await retry(store, 3, 1, { keepDirectory: true, staysOnNode: true })).directory,
    "/data/worktrees/1",
  );
  equal((await read(store, 1))?.directory, "");
  await store.setTaskDirectory(taskIdOf(3), "");
  equal((await read(store, 3))?.directory, "");
});

for (const policy of ["Forbid", "Queue", "Replace"] as const) {
  eachStore(
    `retryTask waits for room in a group with ${policy}, and counts in it`,
    async (store) => {
      const task: Partial<NewTask> = { concurrency: { policy, key: "k", max: 1 } };
      await ended(store, 1, task);
      await accept(store, 2, { task });
      deepEqual(await claim(store), [taskIdOf(2)]);
      equal((await retry(store, 3, 1)).state, "pending");
      deepEqual(await claim(store), []);
      equal((await read(store, 2))?.cancelReason, "", "nobody has to go for it");
      await store.finishTask({ taskId: taskIdOf(2), state: "succeeded", reason: "", now: 9 });
      deepEqual(await claim(store), [taskIdOf(3)]);
      const next = await accept(store, 4, { task });
      deepEqual(
        [next?.outcome, next?.replaces],
        {
          Forbid: ["skipped", undefined],
          Queue: ["accepted", undefined],
          Replace: ["accepted", [taskIdOf(3)]],
        }[policy],
      );
    },
  );
}

eachStore("retryTask is never joined to, and never held back by a rate", async (store) => {
  const task: Partial<NewTask> = {
    debounce: { key: "", forMs: 1000 },
    rateLimit: { perMinute: 1, reject: false },
  };
  await accept(store, 1, { task, receivedAt: 0 });
  await store.claimTasks(1, 5000);
  await store.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: 9 });
  await retry(store, 2, 1);
  equal((await accept(store, 3, { task, receivedAt: 0 }))?.taskId, taskIdOf(3));
  deepEqual((await store.claimTasks(9, 1)).tasks.map((one) => one.task.id), [taskIdOf(2)]);
});
