/**
 * The contract of `Store`, against SQLite in its thread: what any other implementation has to keep.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { Resource } from "../../src/resources/resource.ts";
import type { Store } from "../../src/store/store.ts";
import type { Claim } from "../../src/store/task_records.ts";
import {
  accept,
  countsOf,
  filterOut,
  idOf,
  reject,
  rowsOf,
  step,
  taskIdOf,
  type TempStore,
  tempStore,
} from "./temp_store.ts";

/** A test with a store of its own. */
function test(name: string, body: (temp: TempStore, store: Store) => Promise<void>): void {
  Deno.test(name, async () => {
    await using temp = await tempStore();
    await body(temp, temp.store);
  });
}

const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
const taskIds = ({ tasks }: Claim) => tasks.map(({ task }) => task.id);
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

test("recordDelivery stores the delivery and its pending task", async (_, store) => {
  await accept(store, 1);
  const [delivery] = await store.listDeliveries({ limit: 9 });
  equal(delivery?.id, idOf(1));
  equal(delivery?.outcome, "accepted");
  equal(delivery?.taskId, taskIdOf(1));
  equal(delivery?.secretKey, "current");
  const [task] = await store.listTasks({ limit: 9 });
  deepEqual(task, {
    id: taskIdOf(1),
    project: "default",
    trigger: "push",
    workflow: "ci",
    workspace: "repo",
    state: "pending",
    reason: "",
    deliveryId: idOf(1),
    createdAt: 1_700_000_000_001,
    restarts: 0,
    parentId: "",
    retryOf: "",
    depth: 0,
    directory: "",
    cancelReason: "",
    steps: [
      { position: 0, id: "build", state: "pending", reason: "" },
      { position: 1, id: "deploy", state: "pending", reason: "" },
    ],
  });
  deepEqual(await countsOf(store), { pending: 1, running: 0 });
});

test("recordDelivery without a task stores the record alone", async (_, store) => {
  await filterOut(store, 1);
  equal((await store.listDeliveries({ limit: 9 }))[0]?.outcome, "filtered");
  deepEqual(await store.listTasks({ limit: 9 }), []);
});

test(
  "recordDelivery is one transaction: a task that cannot be stored takes the delivery along",
  async (_, store) => {
    await accept(store, 1);
    await rejects(accept(store, 2, { taskId: taskIdOf(1) }));
    deepEqual(ids(await store.listDeliveries({ limit: 9 })), [idOf(1)]);
    await rejects(accept(store, 1, { taskId: taskIdOf(2) }));
    deepEqual(ids(await store.listTasks({ limit: 9 })), [taskIdOf(1)]);
  },
);

test("claimTasks gives the exact bytes of body and headers", async (_, store) => {
  const body = new Uint8Array([0, 0xff, 0xfe, 10, 0x7b, 0]);
  const headers = Object.fromEntries([["x-a", "é\u0000\n\"'"], ["__proto__", "own"], [
    "empty",
    "",
  ]]);
  await accept(store, 1, { body, headers });
  await accept(store, 2, { body, payload: new Uint8Array([1, 2]) });
  await accept(store, 3, { body: new Uint8Array() });
  const { tasks: claimed } = await store.claimTasks(9, 5);
  deepEqual(claimed.map(({ payload }) => [...payload]), [[...body], [1, 2], []]);
  deepEqual(Object.entries(claimed[0]?.headers ?? {}), Object.entries(headers));
});

test("a body of 25 MiB comes back whole", async (_, store) => {
  const body = new Uint8Array(25 * 1024 * 1024).fill(7);
  await accept(store, 1, { body });
  const { tasks: [claimed] } = await store.claimTasks(1, 5);
  equal(claimed?.payload.length, body.length);
  ok(claimed?.payload.every((byte) => byte === 7));
});

test("texts from outside stay what they are", async (_, store) => {
  const names = ["'; DROP TABLE tasks; --", "%", "_", "a\nb", "ünï", "\u{1f600}", ""];
  await Promise.all(names.map((trigger, n) => accept(store, n, { trigger })));
  for (const [n, trigger] of names.entries()) {
    deepEqual(ids(await store.listTasks({ trigger, limit: 9 })), [taskIdOf(n)]);
    deepEqual((await store.listDeliveries({ trigger, limit: 9 }))[0]?.trigger, trigger);
  }
});

test("many calls at once are all carried out, each seeing those before it", async (_, store) => {
  const calls = range(0, 2000).map((n) => accept(store, n));
  const counts = countsOf(store);
  await Promise.all(calls);
  deepEqual(await counts, { pending: 2000, running: 0 });
  deepEqual(ids(await store.listTasks({ limit: 9999 })), range(0, 2000).map(taskIdOf).toReversed());
});

test("one failing call in a batch spoils no other", async (_, store) => {
  await accept(store, 0);
  const bad = (n: number) => n % 10 === 5;
  const results = await Promise.allSettled(
    range(1, 101).map((n) => bad(n) ? accept(store, n, { taskId: taskIdOf(0) }) : accept(store, n)),
  );
  deepEqual(
    results.map(({ status }) => status),
    range(1, 101).map((n) => bad(n) ? "rejected" : "fulfilled"),
  );
  deepEqual(
    ids(await store.listDeliveries({ limit: 999 })),
    range(0, 101).filter((n) => !bad(n)).map(idOf).toReversed(),
  );
});

test("a failing call undoes nothing that was answered before it", async (_, store) => {
  const results = await Promise.allSettled([
    ...range(0, 20).map((n) => accept(store, n)),
    store.claimTasks(5, 1).then(taskIds),
    accept(store, 99, { taskId: taskIdOf(0) }),
    store.claimTasks(5, 1).then(taskIds),
    store.finishTask({ taskId: taskIdOf(0), state: "succeeded", reason: "", now: 2 }),
    countsOf(store),
  ]);
  deepEqual(results.slice(20), [
    { status: "fulfilled", value: range(0, 5).map(taskIdOf) },
    results[21],
    { status: "fulfilled", value: range(5, 10).map(taskIdOf) },
    { status: "fulfilled", value: true },
    { status: "fulfilled", value: { pending: 10, running: 9 } },
  ]);
  equal(results[21]?.status, "rejected");
});

test("recordRejections keeps the newest of each trigger", async (_, store) => {
  await accept(store, 1);
  await reject(store, range(10, 20).map((n) => ({ n })), 3);
  await reject(store, range(20, 25).map((n) => ({ n, trigger: "other" })), 3);
  const kept = ids(await store.listDeliveries({ limit: 99 }));
  deepEqual(kept, [24, 23, 22, 19, 18, 17, 1].map(idOf));
  await reject(store, [{ n: 30 }, { n: 31, trigger: "other" }], 3);
  deepEqual(
    ids(await store.listDeliveries({ limit: 99 })),
    [31, 30, 24, 23, 19, 18, 1].map(idOf),
  );
  await reject(store, [{ n: 40 }], 0);
  deepEqual(ids(await store.listDeliveries({ trigger: "push", limit: 99 })), [idOf(1)]);
  deepEqual(await store.listTasks({ limit: 9 }).then(ids), [taskIdOf(1)]);
});

test("lists are newest first, limited, by project and by trigger", async (_, store) => {
  const order = [5, 2, 9, 1, 7];
  for (const n of order) {
    await accept(store, n, { project: n > 4 ? "shop" : "default", trigger: `t${n % 2}` });
  }
  const tasks = async (query: Parameters<Store["listTasks"]>[0]) =>
    ids(await store.listTasks(query));
  deepEqual(await tasks({ limit: 99 }), [9, 7, 5, 2, 1].map(taskIdOf));
  deepEqual(await tasks({ limit: 2 }), [9, 7].map(taskIdOf));
  deepEqual(await tasks({ project: "shop", limit: 9 }), [9, 7, 5].map(taskIdOf));
  deepEqual(await tasks({ project: "default", trigger: "t1", limit: 9 }), [1].map(taskIdOf));
  deepEqual(await tasks({ trigger: "t1", limit: 9 }), [9, 7, 5, 1].map(taskIdOf));
  deepEqual(await tasks({ project: "nowhere", limit: 9 }), []);
  deepEqual(
    ids(await store.listDeliveries({ project: "shop", limit: 2 })),
    [9, 7].map(idOf),
  );
});

test("findTasks and findDeliveries give none, one or two by a prefix", async (_, store) => {
  for (const n of [123_401, 123_402, 123_403, 999_999]) await accept(store, n);
  const prefix = taskIdOf(0).slice(0, 20);
  deepEqual(ids(await store.findTasks(`${prefix}99`)), [taskIdOf(999_999)]);
  deepEqual(ids(await store.findTasks(taskIdOf(123_402))), [taskIdOf(123_402)]);
  deepEqual(ids(await store.findTasks(`${prefix}1234`)), [taskIdOf(123_401), taskIdOf(123_402)]);
  deepEqual(ids(await store.findDeliveries(idOf(999_999).slice(0, 22))), [idOf(999_999)]);
  for (const nothing of [`${taskIdOf(123_402)}0`, "%", "_", "zzz", "'", "\u{10ffff}"]) {
    deepEqual(await store.findTasks(nothing), [], nothing);
    deepEqual(await store.findDeliveries(nothing), [], nothing);
  }
});

test("claimTasks hands each task out once, oldest first", async (_, store) => {
  for (const n of [3, 1, 2, 0, 4, 6, 5]) await accept(store, n);
  deepEqual(taskIds(await store.claimTasks(0, 1)), []);
  const claims = await Promise.all([1, 3, 2, 5, 1].map((limit) => store.claimTasks(limit, 50)));
  deepEqual(claims.map(taskIds), [[0], [1, 2, 3], [4, 5], [6], []].map((ns) => ns.map(taskIdOf)));
  const [first] = claims[0]?.tasks ?? [];
  equal(first?.task.state, "running");
  equal(first?.task.startedAt, 50);
  deepEqual(JSON.parse(first?.plan ?? ""), { steps: [{ id: "build" }, { id: "deploy" }] });
  deepEqual(await countsOf(store), { pending: 0, running: 7 });
});

test(
  "a task that misses something is failed from the start and never claimed",
  async (_, store) => {
    await accept(store, 1, { plan: undefined });
    const [task] = await store.listTasks({ limit: 1 });
    equal(task?.state, "failed");
    equal(task?.reason, 'missing: Workflow "ci"');
    equal(task?.finishedAt, task?.createdAt);
    deepEqual(task?.steps, []);
    deepEqual(await store.claimTasks(9, 1), { tasks: [] });
  },
);

test("finishTask ends a running task once, and no other", async (_, store) => {
  await accept(store, 1);
  const end = (state: "succeeded" | "failed" | "cancelled") =>
    store.finishTask({ taskId: taskIdOf(1), state, reason: state, now: 90 });
  equal(await end("succeeded"), false, "pending");
  await store.claimTasks(1, 5);
  deepEqual(await Promise.all([end("failed"), end("succeeded"), end("cancelled")]), [
    ...[true, false, false],
  ]);
  await store.requeueTask(taskIdOf(1));
  const [task] = await store.listTasks({ limit: 1 });
  deepEqual([task?.state, task?.reason, task?.finishedAt], ["failed", "failed", 90]);
  equal(await store.finishTask({ taskId: "none", state: "failed", reason: "", now: 1 }), false);
  deepEqual(await countsOf(store), { pending: 0, running: 0 });
});

test(
  "steps without a record wait while the task is open, and are skipped once it ended",
  async (_, store) => {
    await accept(store, 1);
    await store.claimTasks(1, 5);
    await store.saveStep(taskIdOf(1), { ...step(0, "running"), processGroup: 4711 });
    const states = async () => (await store.findTasks(taskIdOf(1)))[0]?.steps.map((s) => s.state);
    deepEqual(await states(), ["running", "pending"]);
    await store.saveStep(taskIdOf(1), { ...step(0, "failed"), exitCode: 3, reason: "exit code 3" });
    await store.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: 9 });
    deepEqual((await store.findTasks(taskIdOf(1)))[0]?.steps, [
      {
        position: 0,
        id: "build",
        state: "failed",
        reason: "exit code 3",
        exitCode: 3,
        startedAt: 1,
        finishedAt: 2,
      },
      { position: 1, id: "deploy", state: "skipped", reason: "" },
    ]);
  },
);

test(
  "requeueTask puts a task back with its finished steps and its first start",
  async (_, store) => {
    await accept(store, 1);
    await accept(store, 2);
    await store.claimTasks(1, 50);
    await store.saveStep(taskIdOf(1), step(0, "succeeded"));
    await store.requeueTask(taskIdOf(1));
    await store.requeueTask(taskIdOf(2));
    deepEqual(await countsOf(store), { pending: 2, running: 0 });
    const { tasks: [again] } = await store.claimTasks(1, 80);
    equal(again?.task.id, taskIdOf(1), "its turn is that of its age");
    equal(again?.task.startedAt, 50);
    equal(again?.task.restarts, 0);
    deepEqual(again?.task.steps.map(({ state }) => state), ["succeeded", "pending"]);
  },
);

test("a plan is stored once, however many tasks have it", async ({ path }, store) => {
  await Promise.all(range(0, 50).map((n) => accept(store, n)));
  const json = '{"steps":[{"id":"only"}]}';
  await accept(store, 60, { plan: { hash: "h2", json } });
  equal(rowsOf(path, "SELECT * FROM plans").length, 2);
  deepEqual((await store.findTasks(taskIdOf(60)))[0]?.steps.map(({ id }) => id), ["only"]);
});

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

test("changeResources makes all changes or none", async (_, store) => {
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

test("beyond a bound, calls are refused instead of piling up", async (_, store) => {
  const results = await Promise.allSettled(range(0, 30_000).map(() => store.counts()));
  const refused = results.filter((result) => result.status === "rejected");
  ok(refused.length > 0 && refused.length < 15_000, `${refused.length} refused`);
  deepEqual(new Set(refused.map(({ reason }) => reason.code)), new Set(["overloaded"]));
  deepEqual(await countsOf(store), { pending: 0, running: 0 });
});
