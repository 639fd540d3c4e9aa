/**
 * Tasks that two daemons claim, and that one takes over from the other.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../../src/base/errors.ts";
import {
  Connections,
  type ConnectOptions,
  type Session,
} from "../../../src/store/postgres/database/connections.ts";
import { JobQueue } from "../../../src/store/postgres/jobs/job_queue.ts";
import { Claims } from "../../../src/store/postgres/tasks/claims.ts";
import { TaskClaims } from "../../../src/store/postgres/tasks/task_claims.ts";
import type { Store } from "../../../src/store/store.ts";
import { accept, countsOf, step, taskIdOf } from "../../helpers/store_records.ts";
import { numberOf, range } from "../contract/each_store.ts";
import { grouped } from "../contract/grouped_tasks.ts";
import { type TwoDaemons, twoDaemonsTest } from "../../rigs/two_daemons.ts";

const numbers = (tasks: readonly { readonly task: { readonly id: string } }[]) =>
  tasks.map(({ task }) => numberOf(task.id)).toSorted((a, b) => a - b);

const finish = (store: Store, n: number) =>
  store.finishTask({ taskId: taskIdOf(n), state: "succeeded", reason: "", now: 9 });

/** The tasks that are open, and their jobs: what is ready, and what runs. */
async function books(db: Session) {
  const ids = async (sql: string) => (await db.all(sql)).map(({ id }) => numberOf(String(id)));
  return {
    ready: await ids("SELECT id FROM tasks WHERE state = 'pending' AND readiness = 0 ORDER BY id"),
    waiting: await ids(
      "SELECT data ->> 0 AS id FROM svc_jobs.job WHERE state < 'active' ORDER BY 1",
    ),
    running: await ids("SELECT id FROM tasks WHERE state = 'running' ORDER BY id"),
    active: await ids(
      "SELECT data ->> 0 AS id FROM svc_jobs.job WHERE state = 'active' ORDER BY 1",
    ),
  };
}

async function booksAgree({ sql }: TwoDaemons): Promise<void> {
  const { ready, waiting, running, active } = await sql(books);
  deepEqual(waiting, ready);
  deepEqual(active, running);
}

/** Lets the lease of daemon `a` run out, and the engine find that its jobs were not touched. */
async function loseA({ endLeaseOfA, sql }: TwoDaemons): Promise<void> {
  await endLeaseOfA();
  await sql((db) =>
    db.get("SELECT jobs_put_back(array_agg(id)) FROM tasks WHERE state = 'running' AND node = 'a'")
  );
}

twoDaemonsTest("200 tasks go to two daemons, each of them once", async (daemons) => {
  const { a, b } = daemons;
  await Promise.all(range(0, 200).map((n) => accept(n % 2 === 0 ? a : b, n)));
  await booksAgree(daemons);
  const claimed = await Promise.all(
    range(0, 60).map(async (n) => {
      const store = n % 2 === 0 ? a : b;
      const { tasks, interrupted } = await store.claimTasks(7, 5);
      equal(interrupted, undefined);
      return { store, ns: numbers(tasks) };
    }),
  );
  deepEqual(claimed.flatMap(({ ns }) => ns).toSorted((x, y) => x - y), range(0, 200));
  await booksAgree(daemons);
  await Promise.all(claimed.flatMap(({ store, ns }) => ns.map((n) => finish(store, n))));
  deepEqual(await countsOf(a), { pending: 0, running: 0 });
  deepEqual((await daemons.sql(books)).active, []);
  await booksAgree(daemons);
});

twoDaemonsTest(
  "a task belongs to the daemon that runs it until its lease is over",
  async (daemons) => {
    const { a, b, sql } = daemons;
    for (const n of range(0, 5)) await accept(a, n);
    deepEqual(numbers((await a.claimTasks(3, 5)).tasks), [0, 1, 2]);
    await sql((db) =>
      db.get("SELECT jobs_put_back(array_agg(id)) FROM tasks WHERE state = 'running'")
    );
    const { tasks, interrupted } = await b.claimTasks(9, 6);
    deepEqual([numbers(tasks), interrupted], [[3, 4], undefined], "nothing that a lives to run");
    await booksAgree(daemons);
    await loseA(daemons);
    const after = await b.claimTasks(9, 7);
    deepEqual([after.tasks, numbers(after.interrupted ?? [])], [[], [0, 1, 2]]);
    deepEqual(after.interrupted?.map(({ task }) => task.startedAt), [5, 5, 5], "its first start");
    deepEqual(after.interrupted?.map(({ task }) => task.restarts), [1, 1, 1], "counted at once");
    deepEqual(await b.claimTasks(9, 8), { tasks: [] }, "once");
    await booksAgree(daemons);
  },
);

twoDaemonsTest("a report of a daemon about tasks that it lost is refused", async (daemons) => {
  const { a, b } = daemons;
  for (const n of [1, 2]) await accept(a, n);
  await a.claimTasks(9, 5);
  await a.saveStep(taskIdOf(1), step(0, "succeeded"));
  await loseA(daemons);
  deepEqual(numbers((await b.claimTasks(9, 6)).interrupted ?? []), [1, 2]);
  const lost = { code: "conflict" };
  await rejects(a.saveStep(taskIdOf(1), step(1, "failed")), lost);
  await rejects(a.setTaskDirectory(taskIdOf(1), "/elsewhere"), lost);
  await rejects(a.requeueTask(taskIdOf(1), { now: 5 }), lost);
  await rejects(finish(a, 1), lost);
  await b.saveStep(taskIdOf(1), step(1, "succeeded"));
  equal(await finish(b, 1), true);
  await rejects(finish(a, 1), lost, "also when it has ended");
  const [task] = await a.findTasks(taskIdOf(1));
  deepEqual([task?.state, task?.restarts], ["succeeded", 1]);
  deepEqual(task?.steps.map(({ state }) => state), ["succeeded", "succeeded"]);
  await b.requeueTask(taskIdOf(2), { now: 5 });
  deepEqual(numbers((await a.claimTasks(9, 7)).tasks), [2], "what it claims anew is its own");
  equal(await finish(a, 2), true);
  await booksAgree(daemons);
});

twoDaemonsTest("a daemon that starts again has its own tasks at once", async (daemons) => {
  const { a, b } = daemons;
  for (const n of range(0, 4)) await accept(a, n);
  deepEqual(numbers((await a.claimTasks(2, 5)).tasks), [0, 1]);
  deepEqual(numbers((await b.claimTasks(1, 5)).tasks), [2]);
  const again = await daemons.restartA();
  const interrupted = await again.claimInterrupted();
  deepEqual(
    interrupted.map(({ task }) => [task.id, task.restarts]),
    [0, 1].map((n) => [
      taskIdOf(n),
      1,
    ]),
  );
  deepEqual(await again.claimInterrupted(), []);
  await rejects(finish(a, 0), { code: "conflict" }, "that run is over");
  for (const n of [0, 1]) await again.requeueTask(taskIdOf(n), { now: 5 });
  deepEqual(numbers((await b.claimTasks(9, 6)).tasks), [0, 1, 3], "anybody's again");
  await booksAgree(daemons);
});

/** Breaks down for good once it has committed so many transactions. */
class Breaking extends Connections {
  #left = 0;

  constructor(options: ConnectOptions, commits: number) {
    super(options);
    this.#left = commits;
  }

  override async use<T>(work: (db: Session) => Promise<T>): Promise<T> {
    if (this.#left <= 0) throw new AppError("overloaded", "It is away");
    return await super.use(work);
  }

  override async transaction<T>(work: (db: Session) => Promise<T>): Promise<T> {
    if (this.#left-- <= 0) throw new AppError("overloaded", "It is away");
    return await super.transaction(work);
  }
}

twoDaemonsTest(
  "nothing can fail between the commit of a claim and its hand-over",
  async (given) => {
    const { a, url } = given;
    await accept(a, 1, { receivedAt: 5000 });
    await accept(a, 2, { receivedAt: 5000, task: { debounce: { key: "", forMs: 60_000 } } });
    const owner = { node: "a", run: "a1" };
    await using all = new AsyncDisposableStack();
    const sound = all.use(new Connections({ url, owner }));
    const how = { leaseMs: 60_000, names: ["a"], isOwner: true };
    const jobs = all.use(await JobQueue.open(sound, how));
    const claims = new Claims(owner, () => {});
    const connections = all.use(new Breaking({ url, owner }, 2)); // one releases what is due
    const { tasks } = await new TaskClaims({ connections, jobs, claims }).claimTasks(9, 5001);
    deepEqual(numbers(tasks), [1]);
    deepEqual(claims.list().map(({ id }) => numberOf(id)), [1]);
  },
);

Deno.test("a claim whose answer comes when it was given back is not handed out", () => {
  const claims = new Claims({ node: "a", run: "a1" }, () => {});
  const late = { id: "late", epoch: 3 };
  const inTime = { id: "in time", epoch: 1 };
  const look = (inHand: Iterable<string> = []) =>
    claims.findIdle([late, inTime], new Set(inHand)).map(({ id }) => id);
  deepEqual(look(), [], "it may be on its way");
  deepEqual(claims.findIdle([late], undefined), [], "nobody says what is run");
  deepEqual(look(["in time"]), ["late"]);
  deepEqual(claims.add([late, inTime]), [inTime]);
  deepEqual(claims.list(), [inTime]);
  deepEqual(claims.add([{ ...late, epoch: 4 }]), [{ ...late, epoch: 4 }], "claimed anew");
});

Deno.test("a claim that was taken anew is not lost with the one before", () => {
  const lost: string[] = [];
  const claims = new Claims({ node: "a", run: "a1" }, (ids) => lost.push(...ids));
  claims.add([{ id: "back", epoch: 1 }]);
  const [known] = claims.list();
  claims.add([{ id: "back", epoch: 3 }]); // while the database was asked whose it is
  if (known !== undefined) claims.lose(known);
  deepEqual(lost, []);
  claims.lose({ id: "back", epoch: 3 });
  deepEqual(lost, ["back"]);
});

twoDaemonsTest("tasks and jobs agree whatever happens to the tasks", async (daemons) => {
  const { a, b } = daemons;
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return Math.floor(seed / 2 ** 31 * below);
  };
  const running = new Map<number, Store>();
  const of = (store: Store) => [...running].filter(([, owner]) => owner === store);
  let next = 0;
  for (let round = 0; round < 30; round++) {
    await Promise.all([a, b].map(async (store) => {
      for (let i = random(6); i > 0; i--) {
        const task = [{}, grouped("Queue", { max: 2 }), grouped("Replace"), {
          task: { debounce: { key: "", forMs: 10 }, workspaceMax: 2 },
        }][random(4)];
        await accept(store, next++, { ...task, trigger: `t${random(3)}`, receivedAt: round });
      }
      const { tasks } = await store.claimTasks(random(5), round);
      for (const n of numbers(tasks)) running.set(n, store);
      for (const [n] of of(store).slice(0, random(4))) {
        running.delete(n);
        if (random(3) === 0) await store.requeueTask(taskIdOf(n), { now: 5 });
        else await finish(store, n);
      }
      if (next > 0) await store.cancelTask(taskIdOf(random(next)), { reason: "", now: round });
    }));
    await booksAgree(daemons);
  }
});

twoDaemonsTest(
  "an end that one daemon handles is left to it for a while",
  async ({ a, b, sql }) => {
    for (const n of range(0, 3)) await accept(a, n, { plan: undefined, task: { followed: true } });
    const ends = async (store: Store, limit = 9) =>
      (await store.listTaskEnds(limit)).map(({ id }) => numberOf(id));
    deepEqual(await ends(a, 2), [0, 1]);
    deepEqual(await ends(b), [2]);
    deepEqual(await ends(a), [0, 1], "it may ask again");
    await a.forgetTaskEnd(taskIdOf(0), []);
    await sql((db) => db.run("UPDATE task_ends SET reserved_until = now()"));
    deepEqual(await ends(b), [1, 2], "it has had its time");
  },
);
