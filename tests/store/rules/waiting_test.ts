/**
 * What a task waits for and which one is next, as tables over how full its group and workspace are.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import {
  decidePromotion,
  decideWait,
  type PromotionFacts,
  type RoomFacts,
  whatIsDue,
} from "../../../src/store/rules/waiting.ts";

const FREE: RoomFacts = {
  groupQueue: "none",
  groupOpen: 0,
  workspaceQueue: "none",
  workspaceOpen: 0,
};

const group = { digest: new Uint8Array(32), max: 2 };
const at = { project: "default", name: "repo" };
const none = { workspace: at };
const inGroup = { group, workspace: at };
const inWorkspace = { workspace: { ...at, max: 3 } };
const inBoth = { group, workspace: { ...at, max: 3 } };

const WAITS: readonly [
  what: string,
  limits: Parameters<typeof decideWait>[0],
  facts: Partial<RoomFacts>,
  waitsFor: string,
  bringsNewLimit?: boolean,
][] = [
  ["without limits", none, {}, "none"],
  ["in a group that is free", inGroup, {}, "none"],
  ["in a group with room for one more", inGroup, { groupOpen: 1 }, "none"],
  ["in a group that is full", inGroup, { groupOpen: 2 }, "group"],
  ["in a group over a limit that was lowered", inGroup, { groupOpen: 9 }, "group"],
  ["behind others, though there is room", inGroup, { groupQueue: 2 }, "group"],
  ["behind others with a lower limit", inGroup, { groupQueue: 1 }, "group", true],
  ["behind others with a higher limit", inGroup, { groupQueue: 3 }, "group", true],
  ["in a workspace that is free", inWorkspace, { workspaceOpen: 2 }, "none"],
  ["in a workspace that is full", inWorkspace, { workspaceOpen: 3 }, "workspace"],
  ["behind others of its workspace", inWorkspace, { workspaceQueue: 3 }, "workspace"],
  ["behind others there with another limit", inWorkspace, { workspaceQueue: 1 }, "workspace", true],
  ["with room in its group only", inBoth, { workspaceOpen: 3 }, "workspace"],
  ["with room in its workspace only", inBoth, { groupOpen: 2 }, "group"],
  ["with room in both", inBoth, { groupOpen: 1, workspaceOpen: 2 }, "none"],
];

for (const [what, limits, facts, waitsFor, bringsNewLimit = false] of WAITS) {
  Deno.test(`a task ${what} waits for: ${waitsFor}`, () => {
    deepEqual(decideWait(limits, { ...FREE, ...facts }), { waitsFor, bringsNewLimit });
  });
}

Deno.test("room is looked at in order, and no further than the decision needs", () => {
  const asked: string[] = [];
  const known: Partial<Record<keyof RoomFacts, RoomFacts[keyof RoomFacts]>> = {};
  for (;;) {
    const decision = decideWait(inBoth, known as Partial<RoomFacts>);
    if (!("needs" in decision)) break;
    asked.push(decision.needs);
    known[decision.needs] = FREE[decision.needs];
  }
  deepEqual(asked, ["groupQueue", "groupOpen", "workspaceQueue", "workspaceOpen"]);
  deepEqual(decideWait(inBoth, { groupQueue: 2 }), { waitsFor: "group", bringsNewLimit: false });
  deepEqual(decideWait(none, {}), { waitsFor: "none", bringsNewLimit: false });
});

const PROMOTIONS: readonly [
  what: string,
  facts: Partial<PromotionFacts<string>>,
  decision: object,
][] = [
  ["nothing known", {}, { needs: "queue" }],
  ["no task waits", { queue: "none" }, { next: "none" }],
  ["one waits", { queue: { oldest: "t1", newestMax: 1 } }, { needs: "open" }],
  ["room is free", { queue: { oldest: "t1", newestMax: 1 }, open: 0 }, { next: "t1" }],
  ["all room is taken", { queue: { oldest: "t1", newestMax: 1 }, open: 1 }, { next: "none" }],
  ["the limit was raised", { queue: { oldest: "t1", newestMax: 3 }, open: 2 }, { next: "t1" }],
  ["the limit was lowered", { queue: { oldest: "t1", newestMax: 1 }, open: 2 }, { next: "none" }],
];

for (const [what, facts, decision] of PROMOTIONS) {
  Deno.test(`promotion, ${what}: ${JSON.stringify(decision)}`, () => {
    deepEqual(decidePromotion(facts), decision);
  });
}

Deno.test("due is what has its time, and what comes from more than a minute ahead", () => {
  deepEqual(whatIsDue(1000), { runAtUpTo: 1000, createdAfter: 61_000 });
});
