/**
 * A project with a limit and three daemons: whoever stores, claims and ends its tasks, no more run
 * than may, and none stands still.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../../src/base/clock.ts";
import { openPostgresStore } from "../../../src/store/postgres/open_store.ts";
import type { Store } from "../../../src/store/store.ts";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";
import { numberOf, range } from "../contract/each_store.ts";
import { limitProject } from "../contract/limited_projects.ts";
import { SEC, T0 } from "../contract/timed_tasks.ts";

const SHOP = { project: "shop" };
const TASKS = 120;
const MAX = 4;

const claim = async (store: Store, limit = 9) =>
  (await store.claimTasks(limit, T0)).tasks.map(({ task }) => numberOf(task.id));

const finish = (store: Store, n: number) =>
  store.finishTask({ taskId: taskIdOf(n), state: "succeeded", reason: "", now: T0 });

twoDaemonsTest(
  "three daemons never run more tasks of a project than may, and all end",
  async ({ url, a, b, sql }) => {
    const owner = { node: "c", run: "c1" };
    await using c = await openPostgresStore({ url, owner, clock: systemClock });
    await limitProject(a, "shop", MAX);
    const stores = [a, b, c];
    const ended = new Set<number>();
    const running = new Map<number, Store>();
    let [most, puts, waits] = [0, 0, 0];
    const start = (n: number, store: Store) => {
      ok(!running.has(n) && !ended.has(n), `task ${n} runs once`);
      running.set(n, store);
      const open = [...running.keys()].filter((one) => one % 4 !== 3).length;
      most = Math.max(most, open);
      ok(open <= MAX, `${open} of ${MAX} run`);
    };
    /** A third of the tasks are put back, or wait, the first time. */
    const leave = async (n: number, store: Store) => {
      running.delete(n);
      const isFirst = seen.get(n) === 1;
      if (isFirst && n % 6 === 0) {
        puts++;
        return await store.requeueTask(taskIdOf(n), { now: 5 });
      }
      if (isFirst && n % 6 === 1) {
        waits++;
        const wait = { taskId: taskIdOf(n), position: 0, round: 1, ...SHOP, now: T0 };
        const parts = [{ kind: "time", dueAt: T0 + SEC, isRelative: false }] as const;
        await store.openWait({ ...wait, parts });
        await store.parkTask(taskIdOf(n), { steps: [], until: T0 + SEC, now: T0, waits: [0] });
        const end = { by: "hand", who: "ada", reason: "x" } as const;
        return await c.endWait({ taskId: taskIdOf(n), position: 0, end, now: T0 });
      }
      ended.add(n);
      ok(await finish(store, n));
    };
    const seen = new Map<number, number>();
    const store = (from: number, to: number) =>
      Promise.all(
        range(from, to).map((n) =>
          accept(stores[n % 3] ?? a, n, n % 4 === 3 ? {} : { ...SHOP, trigger: `t${n % 5}` })
        ),
      );
    await store(0, TASKS / 2);
    const stored = store(TASKS / 2, TASKS);
    await Promise.all(stores.map(async (store) => {
      while (ended.size < TASKS) {
        const tasks = await claim(store, 6);
        for (const n of tasks) {
          seen.set(n, (seen.get(n) ?? 0) + 1);
          start(n, store);
        }
        await Promise.all(tasks.map((n) => leave(n, store)));
      }
    }));
    await stored;
    equal(ended.size, TASKS);
    ok(most === MAX && puts > 0 && waits > 0, `${most} at once, ${puts} put back, ${waits} waited`);
    const left = await sql((db) => db.get("SELECT count(*) AS n FROM svc_jobs.job"));
    equal(Number(left?.["n"]), 0, "no job is left");
  },
);

twoDaemonsTest(
  "jobs move to the queue of their project when it gets a limit, and back",
  async ({ a, b, sql }) => {
    const queues = async () => {
      const rows = await sql((db) =>
        db.all("SELECT name, count(*) AS n FROM svc_jobs.job GROUP BY name ORDER BY name")
      );
      return rows.map((row) => [String(row["name"]).replace(/\/.*/, "/…"), Number(row["n"])]);
    };
    for (const n of [0, 1]) await accept(a, n);
    for (const n of range(2, 6)) await accept(a, n, SHOP);
    deepEqual(await queues(), [["task", 6]]);
    await limitProject(a, "shop", 1);
    deepEqual(await queues(), [["task", 2], ["task/…", 4]]);
    for (const n of [6, 7]) await accept(b, n, SHOP);
    deepEqual(await queues(), [["task", 2], ["task/…", 6]]);
    deepEqual(await claim(b), [0, 1, 2]);
    await limitProject(a, "shop", 3);
    deepEqual(await claim(a), [3, 4]);
    await limitProject(b, "shop");
    deepEqual(await queues(), [["task", 5], ["task/…", 3]], "those that run stay where they are");
    deepEqual(await claim(a), [5, 6, 7]);
    for (const n of range(0, 8)) await finish(n < 3 ? b : a, n);
    deepEqual(await queues(), []);
  },
);

twoDaemonsTest(
  "tasks that a dead daemon left need room to go on, and hold up none",
  async ({ a, b, restartA, endLeaseOfA }) => {
    await limitProject(a, "shop", 2);
    for (const n of range(0, 6)) await accept(a, n, SHOP);
    deepEqual(await claim(a), [0, 1]);
    deepEqual(await claim(b), [], "both places are taken");
    await endLeaseOfA();
    deepEqual(await claim(b, 1), [2], "what a dead daemon runs takes no room");
    deepEqual(await b.listProjectRooms(), [{ ...SHOP, max: 2, running: 1 }]);
    deepEqual(await claim(b), [3]);
    const again = await restartA();
    deepEqual((await again.claimInterrupted()).map(({ task }) => numberOf(task.id)), [0, 1]);
    for (const n of [0, 1]) await again.requeueTask(taskIdOf(n), { now: 5 });
    deepEqual([await claim(again), await claim(b)], [[], []]);
    await finish(b, 2);
    deepEqual(await claim(again), [0], "the oldest goes first");
    await finish(b, 3);
    deepEqual(await claim(b), [1]);
  },
);
