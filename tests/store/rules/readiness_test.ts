/**
 * Whether a task is ready or queued, and which one is next, as tables over how full its group and workspace are.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import {
  type CapacityFacts,
  decidePromotion,
  decideReadiness,
  type PromotionFacts,
  whatIsDue,
} from "../../../src/store/rules/readiness.ts";

const FREE: CapacityFacts = {
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

const DECISIONS: readonly [
  what: string,
  limits: Parameters<typeof decideReadiness>[0],
  facts: Partial<CapacityFacts>,
  readiness: string,
  bringsNewLimit?: boolean,
][] = [
  ["without limits", none, {}, "ready"],
  ["in a group that is free", inGroup, {}, "ready"],
  ["in a group with room for one more", inGroup, { groupOpen: 1 }, "ready"],
  ["in a group that is full", inGroup, { groupOpen: 2 }, "queuedInGroup"],
  ["in a group over a limit that was lowered", inGroup, { groupOpen: 9 }, "queuedInGroup"],
  ["behind others, though there is room", inGroup, { groupQueue: 2 }, "queuedInGroup"],
  ["behind others with a lower limit", inGroup, { groupQueue: 1 }, "queuedInGroup", true],
  ["behind others with a higher limit", inGroup, { groupQueue: 3 }, "queuedInGroup", true],
  ["in a workspace that is free", inWorkspace, { workspaceOpen: 2 }, "ready"],
  ["in a workspace that is full", inWorkspace, { workspaceOpen: 3 }, "queuedInWorkspace"],
  ["behind others of its workspace", inWorkspace, { workspaceQueue: 3 }, "queuedInWorkspace"],
  [
    "behind others there with another limit",
    inWorkspace,
    { workspaceQueue: 1 },
    "queuedInWorkspace",
    true,
  ],
  ["with room in its group only", inBoth, { workspaceOpen: 3 }, "queuedInWorkspace"],
  ["with room in its workspace only", inBoth, { groupOpen: 2 }, "queuedInGroup"],
  ["with room in both", inBoth, { groupOpen: 1, workspaceOpen: 2 }, "ready"],
];

for (const [what, limits, facts, readiness, bringsNewLimit = false] of DECISIONS) {
  Deno.test(`a task ${what}: ${readiness}`, () => {
    deepEqual(decideReadiness(limits, { ...FREE, ...facts }), { readiness, bringsNewLimit });
  });
}

Deno.test("room is looked at in order, and no further than the decision needs", () => {
  const asked: string[] = [];
  const known: Partial<Record<keyof CapacityFacts, CapacityFacts[keyof CapacityFacts]>> = {};
  for (;;) {
    const decision = decideReadiness(inBoth, known as Partial<CapacityFacts>);
    if (!("needs" in decision)) break;
    asked.push(decision.needs);
    known[decision.needs] = FREE[decision.needs];
  }
  deepEqual(asked, ["groupQueue", "groupOpen", "workspaceQueue", "workspaceOpen"]);
  deepEqual(decideReadiness(inBoth, { groupQueue: 2 }), {
    readiness: "queuedInGroup",
    bringsNewLimit: false,
  });
  deepEqual(decideReadiness(none, {}), { readiness: "ready", bringsNewLimit: false });
});

const PROMOTIONS: readonly [
  what: string,
  facts: Partial<PromotionFacts<string>>,
  decision: object,
][] = [
  ["nothing known", {}, { needs: "queue" }],
  ["no task is queued", { queue: "none" }, { next: "none" }],
  ["one is queued", { queue: { oldest: "t1", newestMax: 1 } }, { needs: "open" }],
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

Deno.test("a task is due when its time has come, or if it was created more than a minute in the future", () => {
  deepEqual(whatIsDue(1000), { runAtUpTo: 1000, createdAfter: 61_000 });
});
