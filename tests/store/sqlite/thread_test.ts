/**
 * The thread of the store: in which order it carries calls out, and how many may wait for it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { accept, countsOf } from "../../helpers/store_records.ts";
import { tempStore } from "../../helpers/temp_store.ts";

Deno.test("a call sees the effects of all earlier calls, reads or writes, answered or not", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  const calls = Array.from({ length: 200 }, (_, n) => accept(store, n));
  const counts = countsOf(store);
  const claim = store.claimTasks(50, 1);
  const after = countsOf(store);
  deepEqual(await counts, { pending: 200, running: 0 });
  deepEqual(await after, { pending: 150, running: 50 });
  await Promise.all([...calls, claim]);
});

Deno.test("beyond a bound, calls are refused instead of piling up", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  const results = await Promise.allSettled(Array.from({ length: 30_000 }, () => store.counts()));
  const refused = results.filter((result) => result.status === "rejected");
  ok(refused.length > 0 && refused.length < 15_000, `${refused.length} refused`);
  deepEqual(new Set(refused.map(({ reason }) => reason.code)), new Set(["overloaded"]));
  deepEqual(await countsOf(store), { pending: 0, running: 0 });
});
