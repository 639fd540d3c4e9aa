/**
 * Ids by a part of them.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { accept, idOf, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore } from "./each_store.ts";

const LIMITS = { limit: 5, newest: 100 };

eachStore("findIds: a beginning goes before an end, an end before the middle", async (store) => {
  for (const n of [123_401, 123_402, 123_403, 999_999]) await accept(store, n);
  const tasks = (part: string, limits = LIMITS) => store.findIds("task", part, limits);
  const start = taskIdOf(0).slice(0, 4);
  const all = [999_999, 123_403, 123_402, 123_401].map(taskIdOf);
  deepEqual(await tasks(start), all, "newest first");
  deepEqual(await tasks(start, { limit: 2, newest: 100 }), all.slice(0, 2));
  deepEqual(await tasks(start[0] ?? ""), all, "however short");
  deepEqual(await tasks(taskIdOf(123_402)), [taskIdOf(123_402)]);
  deepEqual(await tasks("3402"), [taskIdOf(123_402)], "the end");
  deepEqual(await tasks("402"), [], "an end of three may be anybody's");
  deepEqual(await tasks(taskIdOf(123_402).slice(19, 25)), all.slice(1), "the middle");
  deepEqual(await tasks("12340"), [], "a middle of five may be anybody's");
  deepEqual(await store.findIds("delivery", idOf(999_999).slice(-8), LIMITS), [idOf(999_999)]);
  for (const nothing of [`${taskIdOf(123_402)}0`, "%%%%%%", "______", "ZZZZZZ", "'"]) {
    deepEqual(await tasks(nothing), [], nothing);
  }
});

eachStore(
  "findIds looks for an end among the newest only, for a beginning among all",
  async (store) => {
    for (const n of [1001, 1002, 1003]) await accept(store, n);
    const tasks = (part: string) => store.findIds("task", part, { limit: 5, newest: 2 });
    deepEqual(await tasks(taskIdOf(1001).slice(-4)), []);
    deepEqual(await tasks(taskIdOf(1002).slice(-4)), [taskIdOf(1002)]);
    deepEqual(await tasks(taskIdOf(1001).slice(0, 9)), [1003, 1002, 1001].map(taskIdOf));
    deepEqual(await tasks(taskIdOf(1001)), [taskIdOf(1001)]);
  },
);
