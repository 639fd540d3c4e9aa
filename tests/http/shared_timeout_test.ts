/**
 * Waiting with a shared deadline: who is served in time, who is not, and that no timer stays
 * behind.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { SharedTimeout } from "../../src/http/shared_timeout.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

const LATE = () => new Error("late");

Deno.test("SharedTimeout: what comes in time is handed on, failures too", async () => {
  const clock = new ManualClock();
  const list = new SharedTimeout(10_000, clock);
  equal(await list.wait(Promise.resolve("at once"), LATE), "at once");
  const last = list.wait(clock.pause(9999).then(() => "done"), LATE);
  await clock.advance(9999);
  equal(await last, "done");
  await rejects(list.wait(Promise.reject(new Error("broke")), LATE), /^Error: broke$/);
  equal(clock.waiting, 0);
});

Deno.test("SharedTimeout: who comes later is given up later, each after its own time", async () => {
  const clock = new ManualClock();
  const list = new SharedTimeout(160, clock);
  const given: [who: string, ms: number][] = [];
  const give = (who: string) => {
    const late = () => {
      given.push([who, clock.monotonicMs()]);
      return LATE();
    };
    return list.wait(new Promise<never>(() => {}), late).catch(() => {});
  };
  const first = give("first");
  await clock.advance(80);
  const second = give("second");
  equal(await list.wait(Promise.resolve("in time"), LATE), "in time");
  await clock.advance(1000);
  await Promise.all([first, second]);
  deepEqual(given, [["first", 170], ["second", 250]]); // each a tick after its own 160 ms
  equal(clock.waiting, 0);
});

Deno.test("SharedTimeout: used again after everybody has gone", async () => {
  const clock = new ManualClock();
  const list = new SharedTimeout(50, clock);
  for (let round = 0; round < 3; round++) {
    equal(await list.wait(Promise.resolve("done"), LATE), "done");
    equal(clock.waiting, 0);
    const late = list.wait(new Promise<never>(() => {}), LATE);
    const refused = rejects(late, /late/);
    await clock.advance(100);
    await refused;
    equal(clock.waiting, 0);
  }
});

Deno.test("SharedTimeout: a timer that is kept runs on without waiters, until it is given back", async () => {
  const clock = new ManualClock();
  const list = new SharedTimeout(160, clock);
  const kept = list.keepTimer();
  equal(await list.wait(Promise.resolve("done"), LATE), "done");
  equal(clock.waiting, 1);
  await clock.advance(1000);
  const refused = rejects(list.wait(new Promise<never>(() => {}), LATE), /late/);
  kept[Symbol.dispose]();
  equal(clock.waiting, 1, "somebody still waits");
  await clock.advance(170);
  await refused;
  equal(clock.waiting, 0);
});
