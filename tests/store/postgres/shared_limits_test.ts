/**
 * Groups and workspaces of two daemons: whoever stores, claims and ends their tasks, none is over
 * its limit, and none stands still.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { accept, type Accepted, taskIdOf } from "../../helpers/store_records.ts";
import { numberOf, range } from "../contract/each_store.ts";
import { type TwoDaemons, twoDaemonsTest } from "../../rigs/two_daemons.ts";

/** Which tasks run now; a limit that is broken is told at once. */
class Running {
  readonly #tasks = new Set<number>();
  readonly #ended: number[] = [];
  readonly #limits: readonly { readonly max: number; readonly has: (n: number) => boolean }[];

  constructor(limits: readonly { readonly max: number; readonly has: (n: number) => boolean }[]) {
    this.#limits = limits;
  }

  start(n: number): void {
    ok(!this.#tasks.has(n) && !this.#ended.includes(n), `task ${n} runs once`);
    this.#tasks.add(n);
    for (const { max, has } of this.#limits) {
      const running = [...this.#tasks].filter(has);
      ok(running.length <= max, `${running.length} of ${max} run`);
    }
  }

  end(n: number): void {
    this.#tasks.delete(n);
    this.#ended.push(n);
  }

  get ended(): readonly number[] {
    return this.#ended.toSorted((x, y) => x - y);
  }
}

/** Stores tasks at both daemons, while both claim and end them. */
async function runAtBoth(
  { a, b }: TwoDaemons,
  { count, task, running }: {
    readonly count: number;
    readonly task: (n: number) => Accepted;
    readonly running: Running;
  },
): Promise<void> {
  const stores = [a, b];
  const stored = Promise.all(
    range(0, count).map((n) => accept(n % 2 === 0 ? a : b, n, task(n))),
  );
  await Promise.all(stores.map(async (store) => {
    while (running.ended.length < count) {
      const { tasks } = await store.claimTasks(3, 1);
      await Promise.all(tasks.map(async ({ task: { id } }) => {
        const n = numberOf(id);
        running.start(n);
        await store.counts(); // others go on meanwhile
        running.end(n);
        equal(await store.finishTask({ taskId: id, state: "succeeded", reason: "", now: 9 }), true);
      }));
      if (tasks.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }));
  await stored;
  deepEqual(running.ended, range(0, count));
}

const grouped = (key: number, max: number) => ({
  concurrency: { policy: "Queue" as const, key: String(key), max },
});

twoDaemonsTest("no group runs more than its limit, and every task runs once", async (daemons) => {
  const groups = range(0, 3);
  const running = new Running(
    groups.map((group) => ({ max: 2, has: (n: number) => n % 3 === group })),
  );
  await runAtBoth(daemons, { count: 60, task: (n) => ({ task: grouped(n % 3, 2) }), running });
});

twoDaemonsTest("groups that share a workspace stay within both limits", async (daemons) => {
  const running = new Running([
    { max: 3, has: () => true },
    ...range(0, 4).map((group) => ({ max: 1, has: (n: number) => n % 4 === group })),
  ]);
  const task = (n: number) => ({ task: { ...grouped(n % 4, 1), workspaceMax: 3 } });
  await runAtBoth(daemons, { count: 40, task, running });
});

twoDaemonsTest("many that wait are let in one by one, as room comes free", async ({ a, b }) => {
  await Promise.all(range(0, 120).map((n) => accept(a, n, { task: grouped(0, 1) })));
  for (const n of range(0, 5)) {
    const { tasks } = await (n % 2 === 0 ? a : b).claimTasks(9, 1);
    deepEqual(tasks.map(({ task }) => numberOf(task.id)), [n]);
    const end = { taskId: taskIdOf(n), state: "succeeded", reason: "", now: 9 } as const;
    await (n % 2 === 0 ? a : b).finishTask(end);
  }
  // a greater limit lets in more than were loaded at first
  await accept(b, 200, { task: grouped(0, 60) });
  const claimed = await b.claimTasks(999, 1);
  deepEqual(claimed.tasks.map(({ task }) => numberOf(task.id)), range(5, 65));
});

twoDaemonsTest("a task cancelled at one daemon makes room at the other", async ({ a, b }) => {
  await Promise.all(range(0, 30).map((n) => accept(a, n, { task: grouped(0, 2) })));
  await Promise.all(
    range(0, 28).map((n) =>
      (n % 2 === 0 ? a : b).cancelTask(taskIdOf(n), { reason: "by hand", now: 5 })
    ),
  );
  equal((await b.counts()).queued, 0);
  const { tasks } = await b.claimTasks(9, 1);
  deepEqual(tasks.map(({ task }) => numberOf(task.id)), [28, 29]);
});
