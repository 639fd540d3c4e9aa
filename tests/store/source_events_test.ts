/**
 * Source events and bindings in the store: a queue that does not grow slower, retention, lists, and how
 * SQLite carries out each statement.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { NewSourceEvent, SourceEventFacts } from "../../src/store/source_event_records.ts";
import { METHODS } from "../../src/store/sqlite/methods.ts";
import type { Database } from "../../src/store/sqlite/engine/database.ts";
import { isGrowing, watched } from "./query_plans.ts";
import { eventIdOf, sourceEvent } from "./source_event_records.ts";
import { PLAN, rowsOf, taskIdOf, tempStore } from "./temp_store.ts";
import type { Store } from "../../src/store/store.ts";
import { admitted } from "../helpers/admitted.ts";
import { cpuMs } from "../helpers/cpu_time.ts";

const DEMAND = { limit: 10, now: 2_000_000_000_000, staleMs: 300_000 };

/** Stores a post and starts its task, which binds its thread. */
async function started(store: Store, n: number, facts: Partial<SourceEventFacts> = {}) {
  await store.recordSourceEvent(sourceEvent(n, { topLevel: true, threadId: `${n}`, ...facts }));
  await store.claimSourceEvents(DEMAND);
  await store.routeSourceEvent(eventIdOf(n), toTask(n), n);
}

const toTask = (n: number) => ({
  to: "task" as const,
  bind: true,
  dedupWindowMs: 1,
  decision: admitted({
    outcome: "accepted",
    task: {
      id: taskIdOf(n),
      project: "default",
      trigger: "chat",
      workflow: "ci",
      workspace: "repo",
      plan: PLAN,
    },
  }),
});

const IGNORED = { to: "nowhere", state: "ignored", reason: "no" } as const;

async function withStore(body: (store: Store, path: string) => Promise<void>): Promise<void> {
  await using temp = await tempStore();
  await body(temp.store, temp.path);
}

Deno.test("claimSourceEvents hands over one of a thread at a time, in the order they came", () =>
  withStore(async (store) => {
    for (const n of [1, 2, 3]) await store.recordSourceEvent(sourceEvent(n, { threadId: "A" }));
    for (const n of [4, 5]) await store.recordSourceEvent(sourceEvent(n, { threadId: "B" }));
    for (const n of [6, 7]) await store.recordSourceEvent(sourceEvent(n, { threadId: "" }));
    const claim = async () =>
      (await store.claimSourceEvents(DEMAND)).events.map(({ event }) => event.id);
    deepEqual(await claim(), [1, 4, 6, 7].map(eventIdOf));
    deepEqual(await claim(), []);
    await store.routeSourceEvent(eventIdOf(1), IGNORED, 1);
    deepEqual(await claim(), [eventIdOf(2)]);
    await store.postponeSourceEvent(eventIdOf(2), { reason: "x", dueAt: 3e12, counts: true });
    deepEqual(await claim(), [eventIdOf(2)], "so far in the future is no pause");
    await store.postponeSourceEvent(eventIdOf(2), { reason: "x", counts: true });
    deepEqual(await claim(), [eventIdOf(3)]);
    equal(await store.replaySourceEvent(eventIdOf(1), 1), true);
    deepEqual(await claim(), [], "while another one of its thread is being routed");
    await store.routeSourceEvent(eventIdOf(3), IGNORED, 1);
    deepEqual(await claim(), [eventIdOf(1)]);
  }));

Deno.test("claimSourceEvents leaves out triggers that have had their share", () =>
  withStore(async (store) => {
    for (const n of [1, 2]) await store.recordSourceEvent(sourceEvent(n, { trigger: `t${n}` }));
    const { events, nextAt } = await store.claimSourceEvents({ ...DEMAND, busy: ["default/t1"] });
    deepEqual(events.map(({ event }) => event.trigger), ["t2"]);
    equal(nextAt, DEMAND.now + DEMAND.staleMs, "and does not ask to be asked again at once");
  }));

Deno.test("a backlog of 10,000 in one thread is handed over as fast at its end as at its beginning", () =>
  watched((db) => {
    db.exec("BEGIN");
    for (let n = 0; n < 10_000; n++) {
      METHODS.recordSourceEvent(db, sourceEvent(n, { threadId: "A" }));
    }
    const workOf = (from: number, to: number) => {
      const start = cpuMs();
      for (let n = from; n < to; n++) {
        const { events: [claimed] } = METHODS.claimSourceEvents(db, DEMAND);
        METHODS.routeSourceEvent(db, eventIdOf(n), IGNORED, 1);
        equal(claimed?.event.id, eventIdOf(n));
      }
      return cpuMs() - start;
    };
    const first = workOf(0, 500);
    workOf(500, 9000);
    const last = workOf(9000, 9500);
    db.exec("COMMIT");
    ok(last < first * 4, `500 took ${first} ms, and ${last} ms at the end`);
    return Promise.resolve();
  }));

Deno.test("pruneSourceEvents removes what is old and whose task is gone, never what waits", () =>
  withStore(async (store, path) => {
    await started(store, 1, { receivedAt: 10 });
    await started(store, 2, { receivedAt: 20 });
    for (const n of [3, 4, 5]) await store.recordSourceEvent(sourceEvent(n, { receivedAt: n }));
    const { events } = await store.claimSourceEvents({ ...DEMAND, limit: 2 });
    deepEqual(events.map(({ event }) => event.id), [3, 4].map(eventIdOf));
    await store.routeSourceEvent(eventIdOf(3), IGNORED, 1);
    await store.recordSourceEvent(sourceEvent(6, { receivedAt: 1000 }));
    const ids = async () => (await store.listSourceEvents({ limit: 99 })).map(({ id }) => id);
    const threads = async () =>
      (await store.listBindings({ limit: 99 })).map(({ threadId }) => threadId);
    const prune = (before: number, limit = 99) => store.pruneSourceEvents({ before, limit });
    equal(await prune(100), 1, "the ignored one");
    deepEqual(await ids(), [6, 5, 4, 2, 1].map(eventIdOf));
    await store.claimTasks(1, 1);
    await store.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: 2 });
    equal((await store.pruneTasks({ before: 100, limit: 9 })).length, 1);
    equal(await store.pruneDeliveries({ before: 100, limit: 99 }), 1, "that of the ignored one");
    equal(await prune(100), 2, "the event and the thread of the task that is gone");
    deepEqual([await ids(), await threads()], [[6, 5, 4, 2].map(eventIdOf), ["2"]]);
    equal(await store.pruneDeliveries({ before: 100, limit: 99 }), 1);
    equal(rowsOf(path, "SELECT * FROM deliveries").length, 4);
    equal(await prune(100), 0);
  }));

Deno.test("pruneSourceEvents keeps the event in whose thread a retry answers", () =>
  withStore(async (store) => {
    await started(store, 1, { receivedAt: 10 });
    await store.claimTasks(1, 1);
    await store.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: 2 });
    await store.retryTask({
      id: taskIdOf(2),
      of: taskIdOf(1),
      kept: [],
      keepDirectory: false,
      now: 3,
    });
    await store.pruneTasks({ before: 100, limit: 9 });
    equal(await store.pruneSourceEvents({ before: 100, limit: 9 }), 0);
    equal((await store.findThreadOfTask(taskIdOf(2)))?.threadId, "1");
    equal((await store.listBindings({ limit: 9 }))[0]?.taskId, taskIdOf(2));
  }));

Deno.test("pruneSourceEvents does a little at a time and goes on where it stopped", () =>
  withStore(async (store) => {
    const all = Array.from({ length: 50 }, (_, n) => n);
    await Promise.all(
      all.map((n) =>
        store.recordSourceEvent({ ...sourceEvent(n, { receivedAt: n }), ignored: "x" })
      ),
    );
    await started(store, 60, { receivedAt: 60 });
    const removed: number[] = [];
    for (let n = 0; n < 10; n++) {
      removed.push(await store.pruneSourceEvents({ before: 100, limit: 7 }));
    }
    deepEqual(removed, [7, 7, 7, 7, 7, 7, 7, 1, 0, 0]);
    await store.claimTasks(1, 1);
    await store.finishTask({ taskId: taskIdOf(60), state: "failed", reason: "", now: 2 });
    await store.pruneTasks({ before: 100, limit: 9 });
    equal(await store.pruneSourceEvents({ before: 100, limit: 7 }), 2);
    deepEqual(await store.listSourceEvents({ limit: 9 }), []);
    deepEqual(await store.listBindings({ limit: 9 }), []);
  }));

Deno.test("listSourceEvents: filters, and pages", () =>
  withStore(async (store) => {
    for (let n = 0; n < 6; n++) {
      await store.recordSourceEvent(sourceEvent(n, {
        project: n < 3 ? "a" : "b",
        trigger: n % 2 === 0 ? "even" : "odd",
        receivedAt: n,
      }));
    }
    await store.claimSourceEvents(DEMAND);
    await store.routeSourceEvent(eventIdOf(4), IGNORED, 1);
    const list = async (query: Parameters<Store["listSourceEvents"]>[0]) =>
      (await store.listSourceEvents(query)).map(({ id }) => Number(id.slice(-2)));
    deepEqual(await list({ limit: 9 }), [5, 4, 3, 2, 1, 0]);
    deepEqual(await list({ limit: 2, before: eventIdOf(4) }), [3, 2]);
    deepEqual(await list({ limit: 9, project: "a" }), [2, 1, 0]);
    deepEqual(await list({ limit: 9, trigger: "odd" }), [5, 3, 1]);
    deepEqual(await list({ limit: 9, trigger: "even", project: "b" }), [4]);
    deepEqual(await list({ limit: 9, state: "ignored" }), [4]);
    deepEqual(await list({ limit: 9, state: "routing", trigger: "odd" }), [5, 3, 1]);
    deepEqual(await list({ limit: 9, since: 4 }), [5, 4]);
  }));

async function use(db: Database): Promise<void> {
  const record = (event: NewSourceEvent) => METHODS.recordSourceEvent(db, event);
  const demand = { ...DEMAND, limit: 1, routing: [] };
  for (let n = 0; n < 4; n++) {
    record(sourceEvent(n, { threadId: "A", topLevel: n === 0 }));
    record(sourceEvent(10 + n, { kind: "reaction", threadId: "0" }));
  }
  METHODS.claimSourceEvents(db, demand);
  METHODS.routeSourceEvent(db, eventIdOf(0), { ...toTask(0), strays: "no" }, 1);
  METHODS.claimSourceEvents(db, { ...demand, limit: 9 });
  METHODS.routeSourceEvent(db, eventIdOf(1), {
    to: "inbox",
    taskId: taskIdOf(0),
    message: {},
    boundTo: taskIdOf(0),
  }, 1);
  METHODS.postponeSourceEvent(db, eventIdOf(10), { reason: "", dueAt: 1, counts: true });
  METHODS.postponeSourceEvent(db, eventIdOf(11), { reason: "", counts: true });
  METHODS.replaySourceEvent(db, eventIdOf(11), 1);
  METHODS.findSourceEvents(db, "01");
  METHODS.findBindings(db, "01");
  METHODS.findThreadOfTask(db, taskIdOf(0));
  METHODS.claimTasks(db, 1, 1);
  METHODS.finishTask(db, { taskId: taskIdOf(0), state: "failed", reason: "", now: 1 });
  METHODS.retryTask(db, {
    id: taskIdOf(5),
    of: taskIdOf(0),
    kept: [],
    keepDirectory: false,
    now: 1,
  });
  await Promise.resolve();
}

Deno.test("storing, claiming and routing events: no statement grows with what is stored", () =>
  watched(async (db) => {
    await use(db);
    const plans = db.plans();
    ok(plans.length > 25, `${plans.length} were looked at`);
    deepEqual(plans.filter(isGrowing), []);
  }));

Deno.test("retention of events: no statement grows with what is stored", () =>
  watched(async (db) => {
    await use(db);
    db.plans();
    METHODS.pruneSourceEvents(db, { before: 1e15, limit: 3 });
    METHODS.pruneDeliveries(db, { before: 1e15, limit: 3 });
    deepEqual(db.plans().filter(isGrowing), []);
  }));

const QUERIES: readonly Record<string, unknown>[] = [
  {},
  { project: "default" },
  { project: "default", trigger: "chat" },
  { trigger: "chat" },
  { before: "01J" },
  { project: "default", since: 1_700_000_000_000 },
];
const STATES = ["received", "routed", "needs_attention"].map((state) => ({ state }));

for (
  const query of [...QUERIES, ...STATES, { trigger: "chat", project: "default", state: "routed" }]
) {
  Deno.test(`listSourceEvents ${JSON.stringify(query)}: by an index, in its order`, () =>
    watched(async (db) => {
      await use(db);
      db.plans();
      METHODS.listSourceEvents(db, { limit: 5, ...query });
      deepEqual(db.plans().filter(isGrowing), []);
    }));
}

for (const query of QUERIES) {
  Deno.test(`listBindings ${JSON.stringify(query)}: by an index, in its order`, () =>
    watched(async (db) => {
      await use(db);
      db.plans();
      METHODS.listBindings(db, { limit: 5, ...query });
      deepEqual(db.plans().filter(isGrowing), []);
    }));
}
