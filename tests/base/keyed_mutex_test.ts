/**
 * Turns come one after another, also when a call leaves the queue.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { KeyedMutex } from "../../src/base/keyed_mutex.ts";

Deno.test("KeyedMutex: an aborted waiter leaves at once, and those behind it still wait for those before", async () => {
  const turns = new KeyedMutex();
  const seen: string[] = [];
  const first = Promise.withResolvers<void>();
  const one = turns.run("a", async () => {
    await first.promise;
    seen.push("one");
  });
  const leave = new AbortController();
  const two = turns.run("a", () => Promise.resolve(void seen.push("two")), leave.signal);
  const three = turns.run("a", () => Promise.resolve(void seen.push("three")), leave.signal);
  const four = turns.run("a", () => Promise.resolve(void seen.push("four")));
  await turns.run("b", () => Promise.resolve(void seen.push("other")));
  leave.abort();
  await rejects(two, { code: "invalid" });
  await rejects(three, { code: "invalid" });
  deepEqual(seen, ["other"]);
  first.resolve();
  await Promise.all([one, four]);
  deepEqual(seen, ["other", "one", "four"]);
});

Deno.test("KeyedMutex: a turn that fails ends, and a call that left the queue does nothing", async () => {
  const turns = new KeyedMutex();
  await rejects(turns.run("a", () => Promise.reject(new Error("x"))), { message: "x" });
  let ran = false;
  await rejects(
    turns.run("a", () => Promise.resolve(void (ran = true)), AbortSignal.abort()),
    { code: "invalid" },
  );
  deepEqual([ran, await turns.run("a", () => Promise.resolve(2))], [false, 2]);
});
