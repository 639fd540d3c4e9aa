/**
 * Turns: one after another, and who leaves lets nobody past those before.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects } from "node:assert/strict";
import { KeyedTurns } from "../../src/base/keyed_mutex.ts";

Deno.test("KeyedTurns: who leaves goes at once, and those behind still wait for those before", async () => {
  const turns = new KeyedTurns();
  const seen: string[] = [];
  const first = Promise.withResolvers<void>();
  const one = turns.inTurn("a", async () => {
    await first.promise;
    seen.push("one");
  });
  const leave = new AbortController();
  const two = turns.inTurn("a", () => Promise.resolve(void seen.push("two")), leave.signal);
  const three = turns.inTurn("a", () => Promise.resolve(void seen.push("three")), leave.signal);
  const four = turns.inTurn("a", () => Promise.resolve(void seen.push("four")));
  await turns.inTurn("b", () => Promise.resolve(void seen.push("other")));
  leave.abort();
  await rejects(two, { code: "invalid" });
  await rejects(three, { code: "invalid" });
  deepEqual(seen, ["other"]);
  first.resolve();
  await Promise.all([one, four]);
  deepEqual(seen, ["other", "one", "four"]);
});

Deno.test("KeyedTurns: a turn that fails ends, and who was told to go before it came does nothing", async () => {
  const turns = new KeyedTurns();
  await rejects(turns.inTurn("a", () => Promise.reject(new Error("x"))), { message: "x" });
  let ran = false;
  await rejects(
    turns.inTurn("a", () => Promise.resolve(void (ran = true)), AbortSignal.abort()),
    { code: "invalid" },
  );
  deepEqual([ran, await turns.inTurn("a", () => Promise.resolve(2))], [false, 2]);
});
