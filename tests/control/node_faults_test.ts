/**
 * What is wrong among nodes that share a database.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { faultsAmongNodes, faultsOfOthers } from "../../src/control/records/node_faults.ts";
import { type NodeFacts, type NodeRecord, speaksForAll } from "../../src/store/node_records.ts";

type Given = Partial<Omit<NodeRecord, "facts">> & Partial<NodeFacts>;

function node(name: string, given: Given = {}): NodeRecord {
  const { version = "1.0", policy = "", faults = [], ...rest } = given;
  const usual = { id: `id of ${name}`, isSelf: false, isAlive: true, isDrained: false, running: 0 };
  return { ...usual, name, leaseUntil: 0, ...rest, facts: { version, policy, faults } };
}

const GONE = "node b is gone: it has been silent since its lease ended at " +
  '1970-01-01T00:00:00.000Z, and the others take its tasks; start it, or "svc node forget b"';
const drained = (name: string) =>
  `node ${name} is drained: it takes no new tasks until "svc node drain ${name} --undo"`;

const CASES: { readonly [why: string]: readonly [NodeRecord[], readonly string[]] } = {
  "all alike": [[node("a", { policy: "x" }), node("b", { policy: "x" })], []],
  "one gone, whatever it said": [
    [node("a"), node("b", { isAlive: false, version: "0.9", policy: "y", faults: ["full"] })],
    [GONE],
  ],
  "one drained": [[node("a"), node("b", { isDrained: true })], [drained("b")]],
  "one gone that was drained": [[node("a"), node("b", { isAlive: false, isDrained: true })], [
    GONE,
  ]],
  "nobody left who takes tasks": [
    [node("a", { isDrained: true }), node("b", { isAlive: false })],
    [GONE, drained("a"), "no node takes new tasks: they wait"],
  ],
  "versions": [
    [node("a"), node("b", { version: "1.1" }), node("c"), node("d", { version: "" })],
    ["nodes run different versions of svc (1.0 on a, c; 1.1 on b): install the same one on all"],
  ],
  "policies": [
    [node("a", { policy: "x" }), node("b", { policy: "y" }), node("c", { policy: "x" }), node("d")],
    [
      "plugin-policy.yaml is not the same on all nodes (a, c; b; none on d): one node runs " +
      "plugins that another refuses",
    ],
  ],
};

for (const [why, [nodes, faults]] of Object.entries(CASES)) {
  Deno.test(`faults among nodes: ${why}`, () => deepEqual(faultsAmongNodes(nodes), faults));
}

Deno.test("the faults that other nodes report are shown with their names", () => {
  const full = { faults: ["the disk is nearly full"] };
  const all = [node("a", { ...full, isSelf: true }), node("b", full)];
  deepEqual(faultsOfOthers(all), ["node b: the disk is nearly full"]);
  deepEqual(faultsOfOthers([...all, node("c", { ...full, isAlive: false })]).length, 1);
});

Deno.test("the first that lives speaks for all", () => {
  const self = node("b", { isSelf: true });
  deepEqual(speaksForAll([node("a"), self]), false);
  deepEqual(speaksForAll([node("a", { isAlive: false }), self]), true);
  deepEqual(speaksForAll([]), false);
});
