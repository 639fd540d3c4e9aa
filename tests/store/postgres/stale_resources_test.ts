/**
 * A change of the resources on one daemon holds on the others when it returns: nothing is stored
 * that was decided by those of before.
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
import { StaleResourcesError } from "../../../src/store/stale_resources.ts";
import type { Store } from "../../../src/store/store.ts";
import { accept, PLAN, retry, taskIdOf } from "../../helpers/store_records.ts";
import { until } from "../../helpers/until.ts";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";
import { range } from "../contract/each_store.ts";

const workspace = (generation: number): Resource => ({
  kind: "Workspace",
  project: "default",
  name: "repo",
  metadata: {},
  spec: { path: "x" },
  generation,
  createdAt: 1,
  updatedAt: generation,
});

const change = (store: Store, generation: number) =>
  store.changeResources([{ op: "put", resource: workspace(generation) }]);

/** A change on one daemon that the other has taken in. */
async function changeOnBoth(one: Store, other: Store): Promise<number> {
  const now = await change(one, 1);
  equal(await other.resourceVersion(), now);
  await other.adoptResources(now);
  await one.awaitAdoption(now);
  return now;
}

twoDaemonsTest("a decision by earlier resources is not stored", async ({ a, b }) => {
  const before = await b.resourceVersion();
  equal((await accept(b, 1, { resourceVersion: before }))?.outcome, "accepted");
  const now = await changeOnBoth(a, b);
  ok(now > before);
  await rejects(accept(b, 2, { resourceVersion: before }), StaleResourcesError);
  equal((await accept(b, 3, { resourceVersion: now }))?.outcome, "accepted");
  equal((await accept(b, 4))?.outcome, "accepted", "of no version");
  equal((await b.listDeliveries({ limit: 9 })).length, 3);
});

twoDaemonsTest("a stale call refuses no other of its batch", async ({ a, b }) => {
  const before = await b.resourceVersion();
  const now = await changeOnBoth(a, b);
  const settled = await Promise.allSettled(
    [before, now, before, now].map((resourceVersion, n) => accept(b, n, { resourceVersion })),
  );
  deepEqual(settled.map(({ status }) => status), [
    "rejected",
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
});

twoDaemonsTest("under load, none is stored after the change has returned", async ({ a, b }) => {
  const before = await b.resourceVersion();
  let changed = false;
  let sent = 0;
  const late: number[] = [];
  /** Sends one after the other, last one after the change. */
  const send = async (): Promise<void> => {
    const [n, began] = [sent++, changed];
    const stored = await accept(b, n, { resourceVersion: before }).then(() => true, () => false);
    if (began && stored) late.push(n);
    if (!began) await send();
  };
  const sending = range(0, 30).map(send);
  const countStored = async () => (await b.listDeliveries({ limit: 1 })).length;
  await until("the first that is stored", async () => await countStored() > 0 || undefined);
  await changeOnBoth(a, b);
  changed = true;
  await Promise.all(sending);
  deepEqual(late, []);
});

twoDaemonsTest("a change is waited for until the other daemon decides by it", async ({ a, b }) => {
  let isOver = false;
  const version = await change(a, 1);
  const waiting = a.awaitAdoption(version).finally(() => isOver = true);
  await new Promise((resolve) => setTimeout(resolve, 100));
  equal(isOver, false);
  await b.adoptResources(await b.resourceVersion());
  await waiting;
});

twoDaemonsTest("a change waits for no daemon whose lease is over", async ({ b, endLeaseOfA }) => {
  await endLeaseOfA();
  const began = performance.now();
  await b.awaitAdoption(await change(b, 1));
  ok(performance.now() - began < 2000);
});

twoDaemonsTest(
  "no child is made by resources of before, and its wait is not opened",
  async ({ a, b }) => {
    await accept(b, 1);
    await b.claimTasks(1, 5);
    const before = await b.resourceVersion();
    const now = await changeOnBoth(a, b);
    const names = { project: "default", trigger: "push", workflow: "build", workspace: "repo" };
    const taskId = taskIdOf(1);
    const part = { kind: "task", dueAt: 1e15, isRelative: false } as const;
    const start = (resourceVersion: number) =>
      b.startChildren({
        wait: { taskId, position: 0, round: 1, project: "default", parts: [part], now: 5 },
        children: [{ item: 0, task: { ...names, id: taskIdOf(2), plan: PLAN }, inputs: {} }],
        isShared: false,
        sharedAbove: [],
        resourceVersion,
      });
    await rejects(start(before), StaleResourcesError);
    deepEqual([await b.listChildren({ taskId, limit: 9 }), (await b.countWaits()).task], [[], 0]);
    deepEqual((await start(now)).made, [taskIdOf(2)]);
    deepEqual((await start(before)).made, [], "it is there");
  },
);

twoDaemonsTest("no retry is stored that was planned by resources of before", async ({ a, b }) => {
  await accept(b, 1, { plan: undefined });
  const before = await b.resourceVersion();
  const now = await changeOnBoth(a, b);
  await rejects(retry(b, 2, 1, { planned: PLANNED, resourceVersion: before }), StaleResourcesError);
  equal((await b.listTasks({ limit: 9 })).length, 1);
  equal((await retry(b, 2, 1, { planned: PLANNED, resourceVersion: now })).retryOf, taskIdOf(1));
});

const PLANNED = { workflow: "ci", workspace: "repo", plan: PLAN };
