/**
 * What of a chat is kept, as tables.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { defined } from "../../../src/base/defined.ts";
import {
  isBindingNeeded,
  isEventNeeded,
  prunePage,
} from "../../../src/store/rules/chat_retention.ts";

const ALONE = { hasTask: false, isRetried: false };

for (
  const { use, needed } of [
    { use: { ...ALONE, state: "received" }, needed: true },
    { use: { ...ALONE, state: "routing" }, needed: true },
    { use: { ...ALONE, state: "routed" }, needed: false },
    { use: { ...ALONE, state: "ignored" }, needed: false },
    { use: { ...ALONE, state: "needs_attention" }, needed: false },
    { use: { ...ALONE, state: "failed" }, needed: false },
    { use: { state: "routed", hasTask: true, isRetried: false }, needed: true },
    { use: { state: "routed", hasTask: false, isRetried: true }, needed: true },
  ] as const
) {
  Deno.test(`an old event ${JSON.stringify(use)} ${needed ? "stays" : "goes"}`, () => {
    equal(isEventNeeded(use), needed);
  });
}

for (
  const { updatedAt, hasTask, needed } of [
    { updatedAt: 9, hasTask: false, needed: false },
    { updatedAt: 10, hasTask: false, needed: true },
    { updatedAt: 9, hasTask: true, needed: true },
  ]
) {
  Deno.test(`a binding of ${updatedAt}, task stored ${hasTask}, before 10: needed ${needed}`, () => {
    equal(isBindingNeeded({ updatedAt, hasTask }, 10), needed);
  });
}

/** Rows by their age: 9 is too young. Even ones are needed. */
for (
  const { page, unneeded, goOnBehind } of [
    { page: [], unneeded: [] },
    { page: [1, 2], unneeded: [1] },
    { page: [1, 2, 3, 4], unneeded: [1, 3], goOnBehind: 3 },
    { page: [1, 2, 4, 6], unneeded: [1], goOnBehind: 6 },
    { page: [2, 4, 6, 8], unneeded: [], goOnBehind: 8 },
    { page: [1, 3, 5, 7], unneeded: [1, 3], goOnBehind: 3 },
    { page: [1, 3], unneeded: [1, 3] },
    { page: [1, 9, 3, 5], unneeded: [1] },
    { page: [1, 3, 5, 9], unneeded: [1, 3], goOnBehind: 3 },
    { page: [9, 1], unneeded: [] },
  ]
) {
  const next = goOnBehind === undefined ? "begins anew" : `goes on behind ${goOnBehind}`;
  Deno.test(`of ${page.join(" ") || "nothing"} go ${unneeded.join(" ") || "none"}, then it ${next}`, () => {
    const pruned = prunePage(page, {
      pageSize: 4,
      limit: 2,
      isYoung: (row) => row === 9,
      isNeeded: (row) => row % 2 === 0,
    });
    deepEqual(pruned, { unneeded, ...defined({ goOnBehind }) });
  });
}
