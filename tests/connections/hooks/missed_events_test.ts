/**
 * Which events a log says were missed, and what the end of a redelivery means.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { LoggedTry } from "../../../src/connections/api/hooks.ts";
import { lostText, meaningOf, missedEvents } from "../../../src/connections/hooks/missed_events.ts";

let ids = 0;

function tried(guid: string, at: number, given: Partial<LoggedTry> = {}): LoggedTry {
  const id = `9007199254740993${String(++ids).padStart(4, "0")}`;
  const statusCode = 0;
  const status = "failed to connect to host";
  return {
    id,
    guid,
    at,
    statusCode,
    status,
    event: "push",
    action: "",
    redelivery: false,
    isPing: false,
    ...given,
  };
}

const CASES: readonly (readonly [string, readonly LoggedTry[], readonly string[]])[] = [
  ["an empty log", [], []],
  ["a connection that failed", [tried("a", 1)], ["a"]],
  ["one that got through", [tried("a", 1, { statusCode: 200 })], []],
  ["one that got through later", [
    tried("a", 2, { statusCode: 202, redelivery: true }),
    tried("a", 1),
  ], []],
  ["one that was refused: a tunnel whose end is away says 404", [
    tried("a", 1, { statusCode: 404 }),
  ], ["a"]],
  ["a redirection, which GitHub does not follow", [tried("a", 1, { statusCode: 302 })], ["a"]],
  ["a ping", [tried("a", 1, { isPing: true })], []],
  ["oldest first, whatever their order", [tried("b", 3), tried("c", 9), tried("a", 1)], [
    "a",
    "b",
    "c",
  ]],
  ["at the same time in the order of their ids", [tried("a", 1), tried("b", 1)], ["a", "b"]],
];

for (const [name, log, expected] of CASES) {
  Deno.test(`missed in a log: ${name}`, () => {
    deepEqual(missedEvents(log).map(({ guid }) => guid), expected);
  });
}

Deno.test("an event has the time of its first try, and is sent again from its last one", () => {
  const last = tried("a", 5, { statusCode: 502, redelivery: true });
  const [event] = missedEvents([last, tried("a", 3, { redelivery: true }), tried("a", 1)]);
  deepEqual([event?.at, event?.last, event?.redeliveries], [1, last, 2]);
});

const MEANINGS = [[200, "arrived"], [299, "arrived"], [302, "refused"], [401, "refused"], [
  0,
  "unreachable",
], [
  502,
  "unreachable",
]] as const;

for (const [statusCode, expected] of MEANINGS) {
  Deno.test(`a redelivery that ends with ${statusCode} has ${expected}`, () => {
    equal(meaningOf(tried("a", 1, { statusCode })), expected);
  });
}

Deno.test("lost events are named, and of many the first ones", () => {
  const log = Array.from({ length: 7 }, (_, n) => tried(`g${n}`, n * 1000, { action: "opened" }));
  const text = lostText(missedEvents(log));
  equal(
    text.slice(0, 80),
    "push opened g0 of 1970-01-01T00:00:00.000Z (failed to connect to host), push ope",
  );
  equal(text.slice(-12), ", and 2 more");
});
