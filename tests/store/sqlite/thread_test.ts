/**
 * The thread of the store: how many calls may wait for it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok } from "node:assert/strict";
import { countsOf } from "../../helpers/store_records.ts";
import { tempStore } from "../../helpers/temp_store.ts";

Deno.test("beyond a bound, calls are refused instead of piling up", async () => {
  await using temp = await tempStore();
  const { store } = temp;
  const results = await Promise.allSettled(Array.from({ length: 30_000 }, () => store.counts()));
  const refused = results.filter((result) => result.status === "rejected");
  ok(refused.length > 0 && refused.length < 15_000, `${refused.length} refused`);
  deepEqual(new Set(refused.map(({ reason }) => reason.code)), new Set(["overloaded"]));
  deepEqual(await countsOf(store), { pending: 0, running: 0 });
});
