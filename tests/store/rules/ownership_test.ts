/**
 * Whose a claim is, as a table.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { isAbandoned, isGone } from "../../../src/store/rules/ownership.ts";

for (
  const { node, gone, why } of [
    { node: "me", gone: false, why: "a node never takes over what it runs itself" },
    { node: "other", gone: true, why: "the lock proves that another node has ended" },
    { node: "", gone: true, why: "a claim of before nodes were recorded is nobody's" },
  ]
) {
  Deno.test(`a claim of "${node}" seen by "me": ${why}`, () => equal(isGone(node, "me"), gone));
}

for (
  const { node, routing, abandoned, why } of [
    { node: "me", routing: ["e"], abandoned: false, why: "it is being routed" },
    { node: "me", routing: ["f"], abandoned: true, why: "the claim never reached the router" },
    { node: "me", routing: [], abandoned: true, why: "nothing is being routed" },
    { node: "other", routing: [], abandoned: true, why: "its node is gone" },
    { node: "other", routing: ["e"], abandoned: true, why: "whatever this node is doing" },
    { node: "", routing: [], abandoned: true, why: "it is of before nodes were recorded" },
  ]
) {
  Deno.test(`event "e" claimed by "${node}", while "me" routes [${routing}]: ${why}`, () => {
    equal(isAbandoned({ id: "e", node }, { self: "me", routing }), abandoned);
  });
}
