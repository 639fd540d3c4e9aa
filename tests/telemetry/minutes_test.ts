/**
 * Figures minute by minute: each event in its own minute, nothing older than a day, the sum of all
 * triggers always whole, and percentiles that are near the truth.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { Latencies } from "../../src/telemetry/minute_series.ts";
import { MAX_TRIGGERS, Minutes } from "../../src/telemetry/minutes.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

const MINUTE_MS = 60_000;
const PUSH = { project: "default", trigger: "push" };
const OF_PUSH = { project: "default", name: "push" };

Deno.test("Latencies: a percentile is never too low, and at most a sixteenth too high", () => {
  let state = 7;
  const next = () => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
  for (const longest of [1, 20, 40, 1000, 100_000, 4_000_000]) {
    const latencies = new Latencies();
    const values = Array.from({ length: 999 }, () => Math.round(next() ** 3 * longest));
    for (const value of values) latencies.add(value);
    values.sort((a, b) => a - b);
    for (const part of [0.001, 0.5, 0.95, 0.99, 1]) {
      const exact = values[Math.ceil(values.length * part) - 1] ?? 0;
      const found = latencies.percentile(part) ?? -1;
      ok(found >= exact && found <= exact * 17 / 16, `${part} of ${longest}: ${found}, ${exact}`);
    }
  }
});

Deno.test("Latencies: none, one, negative ones by a clock set back, and those beyond measure", () => {
  const latencies = new Latencies();
  equal(latencies.percentile(0.5), undefined);
  latencies.add(-5);
  equal(latencies.percentile(0.99), 0);
  latencies.clear();
  equal(latencies.percentile(0.5), undefined);
  latencies.add(1e12);
  ok((latencies.percentile(0.5) ?? 0) > 4_000_000);
});

Deno.test("Minutes counts each event in its minute, of all and of its trigger", async () => {
  const clock = new ManualClock();
  using minutes = new Minutes(clock);
  minutes.delivery(PUSH, "accepted", 3);
  minutes.delivery(PUSH, "accepted", 5);
  minutes.delivery({ ...PUSH, trigger: "other" }, "rejected", undefined);
  minutes.taskEnd("failed");
  await clock.advance(2 * MINUTE_MS);
  minutes.delivery(PUSH, "filtered", 7);
  minutes.taskStart(PUSH, 20);
  const all = minutes.read({ minutes: 4 });
  equal(all.from, clock.now() - 3 * MINUTE_MS);
  deepEqual(all.deliveries["accepted"], [0, 2, 0, 0]);
  deepEqual(all.deliveries["rejected"], [0, 1, 0, 0]);
  deepEqual(all.deliveries["filtered"], [0, 0, 0, 1]);
  deepEqual(all.answerMs, {
    p50: [null, 3, null, 7],
    p95: [null, 5, null, 7],
    p99: [null, 5, null, 7],
  });
  deepEqual(all.startMs.p99, [null, null, null, 20]);
  deepEqual(all.tasks, {
    succeeded: [0, 0, 0, 0],
    failed: [0, 1, 0, 0],
    cancelled: [0, 0, 0, 0],
  });
  const own = minutes.read({ minutes: 3, trigger: OF_PUSH });
  deepEqual([own.deliveries["accepted"], own.deliveries["rejected"]], [[2, 0, 0], [0, 0, 0]]);
  deepEqual([own.tasks, own.queue], [undefined, undefined]);
  const none = minutes.read({ minutes: 2, trigger: { ...OF_PUSH, name: "quiet" } });
  deepEqual([none.deliveries["accepted"], none.since], [[0, 0], own.since]);
});

Deno.test("Minutes has the percentiles of the minute that runs, and they stay with it", async () => {
  const clock = new ManualClock();
  using minutes = new Minutes(clock);
  const p50 = () => minutes.read({ minutes: 2 }).answerMs.p50;
  minutes.delivery(PUSH, "accepted", 10);
  deepEqual(p50(), [null, 10]);
  minutes.delivery(PUSH, "accepted", 20);
  minutes.delivery(PUSH, "accepted", 20);
  deepEqual(p50(), [null, 20]);
  await clock.advance(MINUTE_MS);
  deepEqual(p50(), [20, null]);
  minutes.delivery(PUSH, "accepted", 1);
  deepEqual(p50(), [20, 1]);
});

Deno.test("Minutes keeps a day and no more, and no trigger of which nothing is left", async () => {
  const clock = new ManualClock();
  using minutes = new Minutes(clock);
  const sum = (name: string) => {
    const query = { minutes: 1440, trigger: { project: "default", name } };
    return minutes.read(query).deliveries["accepted"]?.reduce((all, one) => all + one, 0);
  };
  for (let n = 0; n < MAX_TRIGGERS + 1; n++) {
    minutes.delivery({ project: "default", trigger: `t${n}` }, "accepted", 1);
  }
  equal(sum("t0"), 1);
  const folded = { project: "default", name: `t${MAX_TRIGGERS}` };
  equal(minutes.read({ minutes: 1, trigger: folded }).since, undefined, "no room by itself");
  deepEqual(minutes.read({ minutes: 1 }).deliveries["accepted"], [MAX_TRIGGERS + 1]);
  await clock.advance(1439 * MINUTE_MS);
  equal(sum("t0"), 1);
  await clock.advance(MINUTE_MS);
  equal(sum("t0"), 0);
  await clock.advance(240 * MINUTE_MS);
  minutes.delivery({ project: "default", trigger: folded.name }, "accepted", 1);
  equal(sum(folded.name), 1, "room again");
});

Deno.test("Minutes has the longest queue that it saw in a minute, and none where it saw none", async () => {
  const clock = new ManualClock();
  using minutes = new Minutes(clock);
  let queue: { pending: number; running: number } | undefined = { pending: 4, running: 1 };
  minutes.watchQueue(() =>
    queue === undefined ? Promise.reject(new Error()) : Promise.resolve(queue)
  );
  await clock.advance(20_000);
  queue = { pending: 2, running: 3 };
  await clock.advance(20_000);
  queue = undefined;
  await clock.advance(80_000);
  queue = { pending: 0, running: 0 };
  await clock.advance(20_000);
  deepEqual(minutes.read({ minutes: 3 }).queue, {
    pending: [4, null, 0],
    running: [3, null, 0],
  });
});
