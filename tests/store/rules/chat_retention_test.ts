/**
 * What of a chat is kept, as tables.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { isBindingNeeded, isEventNeeded } from "../../../src/store/rules/chat_retention.ts";

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
