/**
 * What the page holds of a list of records: how much, in which order, and from where it goes on.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { Listing, MOST_HELD } from "../../console/page/data/listing.ts";

/** Records whose ids are in the order of their numbers. */
function records(from: number, count: number): { readonly id: string }[] {
  return Array.from({ length: count }, (_, at) => ({ id: String(from + at).padStart(8, "0") }));
}

Deno.test("a list has the newest first, and says from where older ones go on", () => {
  const list = new Listing<{ readonly id: string; readonly state?: string }>();
  list.restart(records(10, 3), true);
  list.change([{ id: "00000013" }, { id: "00000003", state: "failed" }], ["00000011"]);
  deepEqual(list.items.map(({ id }) => Number(id)), [13, 12, 10, 3]);
  equal(list.downTo, "00000010", "what has changed is far back, and others are between");
  list.extend(records(7, 3), "00000007");
  deepEqual([list.downTo, list.hasMore], ["00000007", true]);
  list.extend(records(5, 2), undefined);
  deepEqual(list.items.map(({ id }) => Number(id)), [13, 12, 10, 9, 8, 7, 6, 5, 3]);
  equal(list.hasMore, false);
});

Deno.test("a list that is open all day keeps its length, and loses no record", () => {
  const list = new Listing();
  list.restart(records(1, 3), false);
  for (let from = 4; from < 3 * MOST_HELD; from += 100) list.change(records(from, 100), []);
  equal(list.items.length, MOST_HELD);
  equal(list.hasMore, true);
  equal(list.downTo, list.items.at(-1)?.id);

  // Older ones that are asked for are held beside those.
  const oldest = Number(list.downTo);
  list.extend(records(oldest - 500, 500), String(oldest - 500).padStart(8, "0"));
  equal(list.items.length, MOST_HELD + 500);
  list.change(records(90_000, 200), []);
  equal(list.items.length, MOST_HELD + 500);
  equal(Number(list.downTo), oldest - 500 + 200);
});
