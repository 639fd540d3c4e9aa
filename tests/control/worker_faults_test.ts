/**
 * Workers that are all busy for long, and tasks of which nothing comes: when that is said, and when
 * not.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { workerFaults } from "../../src/control/worker_faults.ts";
import type { RunningTask } from "../../src/tasks/worker_load.ts";

const MINUTE = 60_000;
const NOW = 1_700_000_000_000;
const ago = (minutes: number) => NOW - minutes * MINUTE;

const faultsOf = (running: readonly RunningTask[], pending: number | undefined, workers = 2) =>
  workerFaults({ workers, running }, { now: NOW, pending: () => Promise.resolve(pending) });

const busy = (...minutes: readonly number[]) =>
  minutes.map((since, at) => ({ id: `0${at}`, since: ago(since) }));

Deno.test("workers that are all busy for ten minutes while a task waits are a fault", async () => {
  const said = ["all 2 workers have been busy for 12m: svc get tasks --state running"];
  deepEqual(await faultsOf(busy(90, 12), 1), said);
  deepEqual(await faultsOf(busy(90, 12), 0), [], "nobody waits");
  deepEqual(await faultsOf(busy(90, 12), undefined), [], "the database is away");
  deepEqual(await faultsOf(busy(90, 9), 1), [], "one was free nine minutes ago");
  deepEqual(await faultsOf(busy(90), 1), [], "one is free");
  deepEqual(await faultsOf(busy(10), 1, 1), [
    "the only worker has been busy for 10m: svc get tasks --state running",
  ]);
});

Deno.test("the number of pending tasks is not read while a worker is free, or was lately", async () => {
  let asked = 0;
  const pending = () => Promise.resolve(++asked);
  for (const running of [[], busy(90), busy(90, 9)]) {
    await workerFaults({ workers: 2, running }, { now: NOW, pending });
  }
  equal(asked, 0);
});

const silent = (minutes: number, mayTake?: number, id = "0A"): RunningTask => ({
  id,
  since: ago(500),
  silentSince: ago(minutes),
  ...(mayTake === undefined ? {} : { mayTakeMs: mayTake * MINUTE }),
});

Deno.test("a silent task is named with the commands that help", async () => {
  const said = (minutes: number) => [
    `task/0A has printed nothing for ${minutes}m: svc task logs 0A, svc task cancel 0A`,
  ];
  deepEqual(await faultsOf([silent(29)], 0), []);
  deepEqual(await faultsOf([silent(30)], 0), said(30), "without a limit");
  deepEqual(await faultsOf([silent(30, 60)], 0), said(30), "half of its hour");
  deepEqual(await faultsOf([silent(40, 10)], 0), said(40), "whose limit does not hold");
  deepEqual(await faultsOf([silent(119, 240)], 0), [], "it may take four hours");
  deepEqual(await faultsOf([silent(120, 240)], 0), said(120));
  deepEqual(await faultsOf([{ id: "0A", since: ago(900) }], 0), [], "no step of it runs");
});

Deno.test("many silent tasks are one sentence", async () => {
  const tasks = ["0A", "0B", "0C", "0D"].map((id, at) => silent(40 + at, undefined, id));
  equal((await faultsOf(tasks.slice(1), 0, 9)).length, 3);
  deepEqual(await faultsOf(tasks, 0, 9), [
    "4 tasks have printed nothing for at least 40m: svc get tasks --state running",
  ]);
});
