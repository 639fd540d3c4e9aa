/**
 * Which agent a step gets, and whether a task is parked, as tables over what is stored.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import {
  decideTurn,
  hasSeat,
  isInForce,
  type NotedLimit,
  type StoredTurn,
  type TurnDecision,
} from "../../../src/store/rules/turns.ts";

const NOW = 1_000_000;
const session = new Uint8Array([1, 2]);
const limited = (agent: string, until: number, notedAt = NOW): NotedLimit => ({
  agent,
  until,
  notedAt,
});
const held = (agent: string): StoredTurn => ({ agent, isHeld: true, session });
const waiting = (agent: string): StoredTurn => ({ agent, isHeld: false, session });
const queued = (agent: string, stays = false): TurnDecision => ({ is: "queued", agent, stays });

const TURNS: readonly [
  what: string,
  stored: { readonly turn?: StoredTurn; readonly limits?: readonly NotedLimit[] },
  decision: TurnDecision,
][] = [
  ["nothing stored", {}, queued("a")],
  ["it holds one", { turn: held("a") }, { is: "kept", agent: "a" }],
  ["it holds one of the second", { turn: held("b") }, { is: "kept", agent: "b" }],
  ["it holds one of an agent that is not asked for", { turn: held("z") }, queued("a")],
  ["it holds one without the session", { turn: { agent: "a", isHeld: true } }, queued("a")],
  [
    "it holds one in another session",
    { turn: { ...held("a"), session: new Uint8Array([1, 3]) } },
    queued("a"),
  ],
  ["it waits for the first", { turn: waiting("a") }, queued("a", true)],
  ["it waits for the second", { turn: waiting("b") }, queued("a")],
  ["the first is limited", { limits: [limited("a", NOW + 1)] }, queued("b")],
  ["the limit has just passed", { limits: [limited("a", NOW)] }, queued("a")],
  ["it was noted in a future", { limits: [limited("a", NOW + 1, NOW + 60_001)] }, queued("a")],
  [
    "it holds one of a limited agent",
    { turn: held("a"), limits: [limited("a", NOW + 1)] },
    queued("b"),
  ],
  [
    "it waits for the second, the first is limited",
    { turn: waiting("b"), limits: [limited("a", NOW + 1)] },
    queued("b", true),
  ],
  [
    "both are limited",
    { turn: held("a"), limits: [limited("a", NOW + 9), limited("b", NOW + 5)] },
    { is: "limited", agent: "b", until: NOW + 5 },
  ],
];

for (const [what, { turn, limits = [] }, decision] of TURNS) {
  Deno.test(`a step asks for a or b: ${what}`, () => {
    deepEqual(decideTurn({ agents: ["a", "b"], session, now: NOW }, { turn, limits }), decision);
  });
}

Deno.test("a seat is free below the number, and always without one", () => {
  equal(hasSeat({ held: 1, seats: 2 }), true);
  equal(hasSeat({ held: 2, seats: 2 }), false);
  equal(hasSeat({ held: 3, seats: 2 }), false);
  equal(hasSeat({ held: 99, seats: undefined }), true);
});

Deno.test("a limit counts until its end, by the clock that noted it", () => {
  equal(isInForce({ until: NOW + 1, notedAt: NOW + 60_000 }, NOW), true);
  equal(isInForce({ until: NOW + 1, notedAt: NOW + 60_001 }, NOW), false);
  equal(isInForce({ until: NOW, notedAt: 0 }, NOW), false);
});
