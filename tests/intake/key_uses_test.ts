/**
 * The counts of key uses on their way to the store: all of them arrive, once, and those of many
 * triggers arrive bit by bit.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { createLog } from "../../src/base/log.ts";
import { activate } from "../../src/intake/admission/triggers.ts";
import { DeliveryContext } from "../../src/intake/pipeline/delivery_context.ts";
import { KeyUses } from "../../src/intake/pipeline/key_uses.ts";
import type { KeyUse } from "../../src/store/delivery_records.ts";
import { ManualClock } from "../helpers/manual_clock.ts";

function setUp() {
  const clock = new ManualClock();
  const log = createLog({ level: "info", format: "json", clock, write: () => {} });
  const writes: (readonly KeyUse[])[] = [];
  const store = {
    recordKeyUse: (uses: readonly KeyUse[]) => Promise.resolve(void writes.push(uses)),
    listKeyUse: () => Promise.resolve([]),
  };
  const uses = new KeyUses({ clock, log, store });
  const triggers = Array.from({ length: 2500 }, (_, n) =>
    activate({
      kind: "Trigger",
      project: "default",
      name: `t${n}`,
      metadata: {},
      spec: { event: { source: "webhook" }, action: { workflow: "w", workspace: "ws" } },
      generation: 1,
      createdAt: 0,
      updatedAt: 0,
    }));
  const call = (of: number, key = "current") => {
    const context = new DeliveryContext({ id: "d", clock, remote: "192.0.2.1" });
    context.trigger = triggers[of];
    context.secret = { store: "signing", key };
    uses.add(context);
  };
  const callAll = () => triggers.forEach((_, n) => call(n));
  const sums = () => {
    const counts: Record<string, number> = {};
    for (const { trigger, key, count } of writes.flat()) {
      const id = `${trigger} ${key}`;
      counts[id] = (counts[id] ?? 0) + count;
    }
    return counts;
  };
  return { clock, uses, writes, call, callAll, sums };
}

Deno.test("uses of a key add up until they are written, with the time of the last", async () => {
  const { clock, writes, call } = setUp();
  const start = clock.now();
  call(1);
  await clock.advance(500);
  call(1);
  call(1, "previous");
  call(2);
  await clock.advance(2000);
  const common = { project: "default", store: "signing" };
  deepEqual(writes, [[
    { ...common, key: "current", trigger: "t1", count: 2, lastAt: start + 500 },
    { ...common, key: "previous", trigger: "t1", count: 1, lastAt: start + 500 },
    { ...common, key: "current", trigger: "t2", count: 1, lastAt: start + 500 },
  ]]);
  await clock.advance(60_000);
  equal(writes.length, 1, "nothing is written where nothing was used");
  equal(clock.waiting, 0);
});

Deno.test("the counts of many triggers are written a thousand at once, and none gets lost", async () => {
  const { clock, writes, callAll, sums } = setUp();
  callAll();
  await clock.advance(2000);
  callAll(); // those that wait go on counting, those that were written wait again
  await clock.advance(2000);
  await clock.advance(20_000);
  ok(writes.every((written) => written.length <= 1000));
  deepEqual(writes.slice(0, 3).map(([first]) => first?.trigger), ["t0", "t1000", "t2000"]);
  equal(Object.keys(sums()).length, 2500);
  ok(Object.values(sums()).every((count) => count === 2));
  equal(clock.waiting, 0);
});

Deno.test("flush writes all counts at once", async () => {
  const { clock, uses, writes, callAll, sums } = setUp();
  callAll();
  await uses.flush();
  callAll();
  await uses[Symbol.asyncDispose]();
  deepEqual(writes.map((written) => written.length), [2500, 2500]);
  ok(Object.values(sums()).every((count) => count === 2));
  equal(clock.waiting, 0);
});
