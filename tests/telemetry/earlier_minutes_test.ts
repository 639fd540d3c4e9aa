/**
 * The figures of the day before the start: those that the daemon had before it ended, each once,
 * and no minute of which only a part was read.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import { counting } from "../../src/telemetry/counting.ts";
import { countEarlier } from "../../src/telemetry/earlier_minutes.ts";
import { Metrics } from "../../src/telemetry/metrics.ts";
import { Minutes } from "../../src/telemetry/minutes.ts";
import { Rates } from "../../src/telemetry/rates.ts";
import { observeStore } from "../../src/telemetry/store_observer.ts";
import { setClock } from "../helpers/manual_clock.ts";
import { accept, filterOut, reject } from "../helpers/store_records.ts";
import { tempStore } from "../helpers/temp_store.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** How long each delivery takes, as its record says. */
const TOOK_MS = 3;

/** A store, and a daemon over it that counts. */
async function counted() {
  const temp = await tempStore();
  const clock = setClock(Date.UTC(2026, 0, 2) + 500); // a record is of the minute that it is counted in
  const disposed = new DisposableStack();
  const start = () => {
    const minutes = disposed.use(new Minutes(clock));
    const metrics = new Metrics({ version: "1", deno: "2" });
    const rates = disposed.use(new Rates(clock));
    return {
      minutes,
      store: observeStore(temp.store, counting({ metrics, rates, minutes }, clock)),
    };
  };
  const hurried = { ...clock, pause: () => Promise.resolve() };
  return {
    clock,
    start,
    fill: async (minutes: Minutes, most?: number) =>
      await countEarlier(
        { store: temp.store, minutes, clock: hurried },
        new AbortController().signal,
        most,
      ),
    async [Symbol.asyncDispose]() {
      disposed.dispose();
      await temp[Symbol.asyncDispose]();
    },
  };
}

type World = Awaited<ReturnType<typeof counted>>;

/** Deliveries and tasks at random moments of three hours. */
async function threeHours({ clock }: World, store: ReturnType<World["start"]>["store"]) {
  let state = 11;
  const pick = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor(state / 2 ** 31 * below);
  };
  const running: string[] = [];
  for (let n = 1; n <= 400; n++) {
    const minute = Math.floor(clock.time / MINUTE_MS) + (pick(2) === 0 ? pick(2) : 0);
    clock.time = Math.max(clock.time, minute * MINUTE_MS + 1000) + pick(100);
    const receivedAt = clock.time - TOOK_MS;
    const at = pick(10);
    if (at < 4) await accept(store, n, { trigger: `t${pick(3)}`, receivedAt });
    else if (at < 6) {
      const { tasks } = await store.claimTasks(2, clock.time);
      running.push(...tasks.map(({ task }) => task.id));
    } else if (running.length > 0) {
      const end = { state: pick(3) === 0 ? "failed" : "succeeded", reason: "" } as const;
      await store.finishTask({ taskId: running.pop() ?? "", ...end, now: clock.time });
    }
  }
}

Deno.test("a daemon that starts again has the figures that it had, of all and of each trigger", async () => {
  await using world = await counted();
  const before = world.start();
  await threeHours(world, before.store);
  world.clock.time += 2 * MINUTE_MS;
  const after = world.start().minutes;
  await world.fill(after);
  const triggers = ["t0", "t1", "t2", "none"].map((name) => ({ project: "default", name }));
  for (const trigger of [undefined, ...triggers]) {
    const query = { minutes: 1440, ...defined({ trigger }) };
    const [had, has] = [before.minutes.read(query), after.read(query)];
    deepEqual(has.deliveries, had.deliveries, trigger?.name);
    deepEqual(has.answerMs, had.answerMs, trigger?.name);
    deepEqual(has.startMs, had.startMs, trigger?.name);
    deepEqual(has.tasks, had.tasks, trigger?.name);
    equal(has.since, has.from);
  }
  const { deliveries, tasks, startMs } = after.read({ minutes: 1440 });
  const sum = (values: readonly number[] = []) => values.reduce((all, one) => all + one, 0);
  ok(sum(deliveries["accepted"]) > 100 && sum(tasks?.["failed"]) > 10, "there was something");
  ok(startMs.p99.filter((value) => value !== null).length > 20);
});

Deno.test("an event after the start is counted once, and one older than a day never", async () => {
  await using world = await counted();
  const { clock } = world;
  const before = world.start();
  const receive = async (store: typeof before.store, n: number) =>
    await accept(store, n, { receivedAt: clock.time - TOOK_MS });
  await receive(before.store, 1);
  clock.time += DAY_MS - 10 * MINUTE_MS;
  await receive(before.store, 2);
  clock.time += 20 * MINUTE_MS;
  await reject(before.store, [{ n: 3 }], 10); // long before its record says, and not of this day
  clock.time += 5000;
  await receive(before.store, 4);
  clock.time += 5000;
  const { minutes, store } = world.start();
  clock.time += 5000;
  await receive(store, 5); // in the minute of the start
  clock.time += MINUTE_MS;
  await receive(store, 6);
  await filterOut(before.store, 7);
  await world.fill(minutes);
  const { deliveries, answerMs } = minutes.read({ minutes: 1440 });
  const found = deliveries["accepted"]?.flatMap((count, at) => count > 0 ? [[at, count]] : []);
  deepEqual(found, [[1418, 1], [1438, 2], [1439, 1]]);
  deepEqual(answerMs.p50.filter((value) => value !== null), [TOOK_MS, TOOK_MS, TOOK_MS]);
  deepEqual(deliveries["rejected"]?.some((count) => count > 0), false);
});

Deno.test("where more is stored than is read, the figures begin with a whole minute, and say so", async () => {
  await using world = await counted();
  const { clock } = world;
  const before = world.start();
  for (let n = 1; n <= 450; n++) {
    clock.time += 7000;
    await accept(before.store, n, { receivedAt: clock.time - TOOK_MS });
  }
  clock.time += MINUTE_MS;
  const { minutes } = world.start();
  const { since: startedAt = 0 } = minutes.read({ minutes: 1 });
  await world.fill(minutes, 200);
  const [had, has] = [before.minutes, minutes].map((one) => one.read({ minutes: 1440 }));
  const { since = 0, from = 0 } = has ?? {};
  ok(since < startedAt - 10 * MINUTE_MS && since > from, `${since}`);
  equal(since % MINUTE_MS, 0);
  const first = (since - from) / MINUTE_MS;
  const [hadCounts = [], hasCounts = []] = [had, has].map((one) => one?.deliveries["accepted"]);
  deepEqual(hasCounts.slice(first), hadCounts.slice(first));
  equal(hasCounts.slice(0, first).some((count) => count > 0), false);
  equal(hadCounts.slice(0, first).some((count) => count > 0), true);
});
