/**
 * Which daemon may run a task, and what one finds of a task that another has begun.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import { accept, PLAN, step, STEPS, taskIdOf } from "../../helpers/store_records.ts";
import { numberOf, range } from "../contract/each_store.ts";
import { debounced, SEC, T0 } from "../contract/timed_tasks.ts";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";

const planIn = (workspace: object) => ({
  hash: JSON.stringify(workspace),
  json: JSON.stringify({ steps: STEPS.map((id) => ({ id })), workspace }),
});

/** A plan of a workspace that names nodes. */
const planFor = (nodes: readonly string[]) => planIn({ path: "/w", nodes });

async function claim(store: Store, limit = 9): Promise<number[]> {
  const { tasks, interrupted = [] } = await store.claimTasks(limit, 5);
  return [...tasks, ...interrupted].map(({ task }) => numberOf(task.id));
}

const finish = (store: Store, n: number) =>
  store.finishTask({ taskId: taskIdOf(n), state: "failed", reason: "", now: 9 });

const jobs = "SELECT id FROM svc_jobs.job";

twoDaemonsTest("a task runs on the nodes that its workspace names", async ({ a, b, sql }) => {
  await accept(a, 1, { plan: planFor(["b"]) });
  await accept(a, 2);
  await accept(a, 3, { plan: planFor(["nobody", "a"]) });
  await accept(a, 4, { plan: planFor(["nobody"]) });
  await accept(b, 5, { plan: planFor(["b"]) });
  deepEqual(await claim(a), [2, 3]);
  deepEqual(await claim(b, 1), [1]);
  await b.requeueTask(taskIdOf(1), { now: 5 });
  deepEqual(await claim(a), [], "also when it continues");
  deepEqual(await claim(b), [1, 5]);
  equal(await a.cancelTask(taskIdOf(4), { reason: "", now: 7 }), "cancelled");
  for (const n of [2, 3]) equal(await finish(a, n), true);
  for (const n of [1, 5]) equal(await finish(b, n), true);
  deepEqual(await sql((db) => db.all(jobs)), []);
});

twoDaemonsTest("the oldest task is claimed first, whichever nodes may run it", async ({ a, b }) => {
  await accept(a, 1);
  await accept(a, 2, { plan: planFor(["a", "b"]) });
  await accept(a, 3, { plan: planFor(["a"]) });
  await accept(a, 4);
  await accept(a, 5, { plan: planFor(["a", "b"]) });
  deepEqual(await claim(a, 1), [1], "not behind those that are for this node");
  deepEqual(await claim(a, 2), [2, 3]);
  deepEqual(await claim(b, 2), [4, 5]);
});

twoDaemonsTest("two daemons leave nothing of several queues", async ({ a, b }) => {
  const plans = [PLAN, planFor(["a", "b"]), planFor(["b", "c", "a"])];
  await Promise.all(range(0, 120).map((n) => accept(a, n, { plan: plans[n % 3] })));
  const claimed = await Promise.all(range(0, 40).map((n) => claim(n % 2 === 0 ? a : b, 3)));
  const rest = [...await claim(a, 99), ...await claim(b, 99)];
  deepEqual([...claimed.flat(), ...rest].toSorted((x, y) => x - y), range(0, 120));
});

twoDaemonsTest(
  "an event moves the task that it joins to the nodes of its plan",
  async (daemons) => {
    const { a, b, sql } = daemons;
    await debounced(a, 1, T0, { plan: planFor(["nobody"]) });
    const due = T0 + 11 * SEC;
    deepEqual(await a.claimTasks(9, due), { tasks: [] }, "ready, and for nobody here");
    await debounced(a, 2, due, { plan: planFor(["b"]) });
    deepEqual((await a.claimTasks(9, due)).tasks, []);
    const { tasks: [claimed] } = await b.claimTasks(9, due);
    deepEqual([claimed?.task.id, claimed?.plan], [taskIdOf(1), planFor(["b"]).json]);
    await b.finishTask({ taskId: taskIdOf(1), state: "succeeded", reason: "", now: due });
    deepEqual(await sql((db) => db.all(jobs)), []);
  },
);

twoDaemonsTest("a placed task is taken over like any other", async (daemons) => {
  const { a, b, sql } = daemons;
  await accept(a, 1, { plan: planFor(["a", "b"]) });
  deepEqual(await claim(a), [1]);
  await daemons.endLeaseOfA();
  await sql((db) => db.get("SELECT jobs_put_back(ARRAY[?])", taskIdOf(1)));
  deepEqual(await claim(b), [1]);
});

twoDaemonsTest("a retry that keeps a directory runs where that is", async ({ a, b }) => {
  const retry = (n: number, of: number) =>
    a.retryTask({
      by: { called: "ada" },
      id: taskIdOf(n),
      of: taskIdOf(of),
      kept: [],
      keepDirectory: true,
      staysOnNode: true,
      now: 20,
    });
  await accept(a, 1);
  deepEqual(await claim(a), [1]);
  await a.setTaskDirectory(taskIdOf(1), "/data/of/a");
  await finish(a, 1);
  await retry(2, 1);
  deepEqual(await claim(b), []);
  const { tasks: [claimed] } = await a.claimTasks(9, 5);
  deepEqual([claimed?.task.id, claimed?.task.directory], [taskIdOf(2), "/data/of/a"]);
});

twoDaemonsTest("a retry that keeps steps runs where what they made is", async (daemons) => {
  const { a, b } = daemons;
  const plan = planIn({ path: "workspaces/default" });
  await accept(a, 1, { plan });
  deepEqual(await claim(a), [1]);
  await a.saveStep(taskIdOf(1), step(0, "succeeded"));
  await finish(a, 1);
  const retry = (n: number, staysOnNode: boolean) =>
    b.retryTask({
      by: { called: "ada" },
      id: taskIdOf(n),
      of: taskIdOf(1),
      keepDirectory: false,
      staysOnNode,
      now: 20,
      kept: staysOnNode ? [step(0, "succeeded")] : [],
    });
  equal((await retry(2, true)).node, "a");
  equal((await retry(3, false)).node, undefined);
  await retry(4, true);
  deepEqual(await claim(b), [3]);
  deepEqual(await claim(a, 1), [2]);
  await a.requeueTask(taskIdOf(2), { now: 5 });
  deepEqual(await claim(b), [], "also when it was begun there");
  await b.forgetNode("a");
  const { tasks } = await b.claimTasks(9, 6);
  deepEqual(
    tasks.map(({ task: { id, steps }, move }) => [
      numberOf(id),
      move?.from,
      move?.isAnew,
      ...steps.map(({ state }) => state),
    ]),
    [2, 4].map((n) => [n, "a", true, "pending", "pending"]),
    "with that node what its steps made is gone",
  );
});

twoDaemonsTest(
  "the running and pending tasks of a forgotten node run at other nodes at once",
  async (daemons) => {
    const { a, b, sql } = daemons;
    for (const n of [1, 2]) await accept(a, n);
    deepEqual(await claim(a), [1, 2]);
    await a.setTaskDirectory(taskIdOf(1), "/data/of/a");
    await finish(a, 1);
    await a.retryTask({
      by: { called: "ada" },
      id: taskIdOf(3),
      of: taskIdOf(1),
      kept: [],
      keepDirectory: true,
      staysOnNode: true,
      now: 20,
    });
    deepEqual(await claim(b), []);
    deepEqual((await b.listNodes()).map(({ name, isAlive }) => [name, isAlive]), [
      ["a", true],
      ["b", true],
    ]);
    await b.forgetNode("a");
    deepEqual(await claim(b), [3, 2]);
    deepEqual((await b.listNodes()).map(({ name }) => name), ["b"]);
    const [retried] = await b.findTasks(taskIdOf(3));
    equal(retried?.directory, "", "begun anew");
    deepEqual((await sql((db) => db.all(jobs))).length, 2);
    await rejects(b.forgetNode("a"), { code: "not_found" });
    await rejects(b.forgetNode("b"), { code: "conflict" });
  },
);

twoDaemonsTest("a task begins anew where what its steps made is not", async (daemons) => {
  const { a, b, sql } = daemons;
  const all = range(1, 5);
  const workspaces = [
    { path: "/srv/repo", isolation: "worktree" },
    { path: "workspaces/default", isolation: "shared" },
    { path: "/srv/repo", isolation: "shared" },
    { path: "workspaces/default", isolation: "shared" },
  ];
  for (const n of all) await accept(a, n, { plan: planIn(workspaces[n - 1] ?? {}) });
  deepEqual(await claim(a), all);
  for (const n of [1, 2, 3]) await a.saveStep(taskIdOf(n), step(0, "succeeded"));
  await a.setTaskDirectory(taskIdOf(1), "/data/of/a");
  for (const n of all) await a.requeueTask(taskIdOf(n), { now: 5 });
  const { tasks } = await b.claimTasks(9, 6);
  const moved = (isAnew: boolean) => ({ from: "a", to: "b", isAnew });
  deepEqual(
    tasks.map(({ task: { id, directory, steps }, move }) => [
      numberOf(id),
      directory,
      ...steps.map(({ state }) => state),
      move,
    ]),
    [
      [1, "", "pending", "pending", moved(true)],
      [2, "", "pending", "pending", moved(true)],
      [3, "", "succeeded", "pending", moved(false)],
      [4, "", "pending", "pending", undefined],
    ],
  );
  const left = () => sql((db) => db.all("SELECT * FROM files_to_remove ORDER BY task_id"));
  deepEqual(
    await left(),
    all.map((n) => ({ node: "a", task_id: taskIdOf(n), directory: n === 1 ? "/data/of/a" : "" })),
  );
  await b.requeueTask(taskIdOf(2), { now: 5 });
  deepEqual(await claim(a), [2]);
  deepEqual(
    (await left()).map(({ node, task_id }) => [node, numberOf(String(task_id))]),
    [["a", 1], ["b", 2], ["a", 3], ["a", 4]],
    "what is run here again stays",
  );
});

twoDaemonsTest("each node gets what a task has left there, and only that", async (daemons) => {
  const { a, b, sql } = daemons;
  const plan = planIn({ path: "/srv/repo", isolation: "worktree" });
  await accept(a, 1, { plan });
  const pass = async (store: Store, directory: string) => {
    deepEqual(await claim(store), [1]);
    if (directory !== "") await store.setTaskDirectory(taskIdOf(1), directory);
    await store.requeueTask(taskIdOf(1), { now: 5 });
  };
  await pass(a, "/data/of/a");
  await pass(b, "");
  // A third node has taken it from b.
  await sql((db) => db.run("UPDATE tasks SET node = 'c'"));
  await sql((db) => db.run("INSERT INTO files_to_remove VALUES ('b', ?, '')", taskIdOf(1)));
  const left = (store: Store) => store.pruneTasks({ before: 0, limit: 9 });
  deepEqual(await left(a), [{ id: taskIdOf(1), directory: "/data/of/a", isMoved: true }]);
  deepEqual(await left(b), [{ id: taskIdOf(1), directory: "", isMoved: true }]);
  deepEqual([await left(a), await left(b)], [[], []]);
});

twoDaemonsTest("a node that is drained begins nothing, and ends what it runs", async (daemons) => {
  const { a, b } = daemons;
  await accept(a, 1);
  deepEqual(await claim(a), [1]);
  await b.drainNode("a", true);
  await accept(a, 2);
  await accept(a, 3, { plan: planFor(["a"]) });
  deepEqual(await claim(a), []);
  deepEqual(await claim(b), [2]);
  equal(await finish(a, 1), true);
  deepEqual(await b.claimInterrupted(), []);
  const again = await daemons.restartA();
  deepEqual(await claim(again), [], "it still is when it starts again");
  deepEqual((await b.listNodes()).map(({ isDrained }) => isDrained), [true, false]);
  await b.drainNode("a", false);
  deepEqual(await claim(again), [3]);
  await rejects(b.drainNode("c", true), { code: "not_found" });
});

twoDaemonsTest("a node that is drained goes on with what its daemon began", async (daemons) => {
  const { a, b } = daemons;
  await accept(a, 1);
  deepEqual(await claim(a), [1]);
  await b.drainNode("a", true);
  const again = await daemons.restartA();
  deepEqual((await again.claimInterrupted()).map(({ task }) => numberOf(task.id)), [1]);
});

twoDaemonsTest("each says of itself what the others show", async ({ a, b }) => {
  const facts = { version: "2", policy: "x", faults: ["\u0000 is no text"] };
  equal(await a.reportNode(facts), true);
  equal(await a.reportNode(facts), false);
  deepEqual((await b.listNodes()).map((node) => node.facts), [
    facts,
    { version: "", policy: "", faults: [] },
  ]);
});

twoDaemonsTest("a task says for which nodes it waits, and which one ran it", async ({ a, b }) => {
  await accept(a, 1, { plan: planFor(["b"]) });
  const [waiting] = await a.findTasks(taskIdOf(1));
  deepEqual([waiting?.readiness, waiting?.nodeName], [{ is: "ready", nodes: ["b"] }, undefined]);
  deepEqual(await claim(b), [1]);
  await b.saveStep(taskIdOf(1), step(0, "succeeded"));
  equal(await b.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: 9 }), true);
  const [ended] = await a.findTasks(taskIdOf(1));
  deepEqual([ended?.readiness, ended?.nodeName], [undefined, "b"]);
  const kept = [step(0, "succeeded")];
  const retry = { id: taskIdOf(2), of: taskIdOf(1), kept, keepDirectory: false, now: 10 };
  const { readiness } = await a.retryTask({ ...retry, by: { called: "ada" }, staysOnNode: true });
  deepEqual(readiness, { is: "ready", nodes: ["b"], onlyNode: "b" });
});
