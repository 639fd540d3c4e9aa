/**
 * Source events and bindings in SQLite: a queue that does not grow slower, and how each statement
 * is carried out.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { NewSourceEvent } from "../../../src/store/source_event_records.ts";
import type { Database } from "../../../src/store/sqlite/engine/database.ts";
import { METHODS } from "../../../src/store/sqlite/methods.ts";
import { cpuMs } from "../../helpers/cpu_time.ts";
import { eventIdOf, sourceEvent } from "../../helpers/source_event_records.ts";
import { taskIdOf } from "../../helpers/store_records.ts";
import { DEMAND, IGNORED, toTask } from "../contract/chat_tasks.ts";
import { isGrowing, watched } from "./query_plans.ts";
import { NOT_SLOW } from "../../helpers/program.ts";
import { skippable } from "../../helpers/requirements.ts";

Deno.test(
  skippable(
    "a backlog of 10,000 in one thread is handed over as fast at its end as at its beginning",
    NOT_SLOW,
  ),
  () =>
    watched(async (db) => {
      db.exec("BEGIN");
      for (let n = 0; n < 10_000; n++) {
        await METHODS.recordSourceEvent(db, sourceEvent(n, { threadId: "A" }));
      }
      const workOf = async (from: number, to: number) => {
        const start = cpuMs();
        for (let n = from; n < to; n++) {
          const { events: [claimed] } = await METHODS.claimSourceEvents(db, DEMAND);
          await METHODS.routeSourceEvent(db, eventIdOf(n), IGNORED, 1);
          equal(claimed?.event.id, eventIdOf(n));
        }
        return cpuMs() - start;
      };
      const first = await workOf(0, 500);
      await workOf(500, 9000);
      const last = await workOf(9000, 9500);
      db.exec("COMMIT");
      ok(last < first * 4, `500 took ${first} ms, and ${last} ms at the end`);
    }),
);

async function use(db: Database): Promise<void> {
  const record = (event: NewSourceEvent) => METHODS.recordSourceEvent(db, event);
  const demand = { ...DEMAND, limit: 1, routing: [] };
  for (let n = 0; n < 4; n++) {
    await record(sourceEvent(n, { threadId: "A", topLevel: n === 0 }));
    await record(sourceEvent(10 + n, { kind: "reaction", threadId: "0" }));
  }
  await METHODS.claimSourceEvents(db, demand);
  await METHODS.routeSourceEvent(db, eventIdOf(0), { ...toTask(0), strays: "no" }, 1);
  await METHODS.claimSourceEvents(db, { ...demand, limit: 9 });
  await METHODS.routeSourceEvent(db, eventIdOf(1), {
    to: "inbox",
    taskId: taskIdOf(0),
    message: {},
    boundTo: taskIdOf(0),
  }, 1);
  await METHODS.postponeSourceEvent(db, eventIdOf(10), { reason: "", dueAt: 1, counts: true });
  await METHODS.postponeSourceEvent(db, eventIdOf(11), { reason: "", counts: true });
  await METHODS.replaySourceEvent(db, eventIdOf(11), 1);
  await METHODS.findSourceEvents(db, "01");
  await METHODS.findBindings(db, "01");
  await METHODS.findThreadOfTask(db, taskIdOf(0));
  await METHODS.claimTasks(db, 1, 1);
  await METHODS.finishTask(db, { taskId: taskIdOf(0), state: "failed", reason: "", now: 1 });
  await METHODS.retryTask(db, {
    by: { called: "ada" },
    id: taskIdOf(5),
    of: taskIdOf(0),
    kept: [],
    keepDirectory: false,
    staysOnNode: false,
    now: 1,
  });
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
    await METHODS.pruneSourceEvents(db, { before: 1e15, limit: 3 });
    await METHODS.pruneDeliveries(db, { before: 1e15, limit: 3 });
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
      await METHODS.listSourceEvents(db, { limit: 5, ...query });
      deepEqual(db.plans().filter(isGrowing), []);
    }));
}

for (const query of QUERIES) {
  Deno.test(`listBindings ${JSON.stringify(query)}: by an index, in its order`, () =>
    watched(async (db) => {
      await use(db);
      db.plans();
      await METHODS.listBindings(db, { limit: 5, ...query });
      deepEqual(db.plans().filter(isGrowing), []);
    }));
}
