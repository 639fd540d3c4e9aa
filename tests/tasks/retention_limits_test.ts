/**
 * Which records have to be looked at trigger by trigger, of the times that are kept.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { Catalog } from "../../src/resources/catalog.ts";
import { agesOf, shortestOf } from "../../src/tasks/retention/limits.ts";

const DAY_MS = 24 * 3600 * 1000;

const catalogOf = (tasks: Readonly<Record<string, string | number>>) =>
  new Catalog(
    Object.entries(tasks).map(([name, kept]) => ({
      kind: "Trigger",
      project: "p",
      name,
      metadata: {},
      spec: { event: { source: "webhook" }, retention: { tasks: kept } },
      generation: 1,
      createdAt: 1,
      updatedAt: 1,
    })),
  );

Deno.test("ages: without times of their own, all triggers go by the setting, and are not named", () => {
  deepEqual(agesOf("tasks", 30 * DAY_MS, catalogOf({})), { longestMs: 30 * DAY_MS, shorter: [] });
  deepEqual(agesOf("tasks", 0, catalogOf({})), { shorter: [] }, "for ever");
  equal(shortestOf(agesOf("tasks", 0, catalogOf({}))), Infinity);
});

Deno.test("ages: a shorter time is looked at by itself; with a longer one, all others are", () => {
  const a = { project: "p", trigger: "a", ms: 3600_000 };
  const b = { project: "p", trigger: "b", ms: 60 * DAY_MS };
  deepEqual(agesOf("tasks", 30 * DAY_MS, catalogOf({ a: "1h" })), {
    longestMs: 30 * DAY_MS,
    shorter: [a],
  });
  deepEqual(agesOf("tasks", 0, catalogOf({ a: 3600, b: "60d" })), { shorter: [a, b] });
  const both = agesOf("tasks", 30 * DAY_MS, catalogOf({ a: "1h", b: "60d" }));
  deepEqual(both, {
    longestMs: 60 * DAY_MS,
    shorter: [a],
    others: { ms: 30 * DAY_MS, but: [a, b] },
  });
  equal(shortestOf(both), 3600_000);
  deepEqual(agesOf("bodies", 0, catalogOf({ a: "1h" })), { shorter: [] }, "another field");
});
