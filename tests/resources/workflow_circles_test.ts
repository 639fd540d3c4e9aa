/**
 * Which workflows that start each other are refused: those of which each would start the next, whatever a
 * task finds.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { Catalog } from "../../src/resources/catalog.ts";
import { circleErrors } from "../../src/resources/workflow_circles.ts";

type Steps = readonly Record<string, unknown>[];

const workflow = (name: string, steps: Steps, last: Steps = [], project = "default") => ({
  kind: "Workflow",
  project,
  name,
  metadata: {},
  spec: { steps, finally: last },
  generation: 1,
  createdAt: 0,
  updatedAt: 0,
});

const go = (to: string, more: Record<string, unknown> = {}) => ({
  id: `to-${to}`,
  workflow: to,
  ...more,
});
const END = { id: "x", run: "true" };
const A_TO_B = 'step "to-b" of "a" starts "b"';
const B_TO_A = 'step "to-a" of "b" starts "a"';
const GIVE = 'Give one of these steps a "when"';
const TWO = [`workflow/a: it would start itself again and again: ${A_TO_B}, ${B_TO_A}. ${GIVE}`];

type Workflows = ReturnType<typeof workflow>[];
const CASES: readonly [what: string, all: Workflows, expected: readonly string[]][] = [
  ["two that start each other", [workflow("a", [go("b")]), workflow("b", [END, go("a")])], TWO],
  ["at times", [workflow("a", [go("b", { when: "payload.more" })]), workflow("b", [go("a")])], []],
  [
    "for each item of a list, which may be empty",
    [workflow("a", [go("b", { forEach: "payload.all" })]), workflow("b", [go("a")])],
    [],
  ],
  ["in the end", [workflow("a", [END], [go("b")]), workflow("b", [go("a")])], TWO],
  [
    "in rounds",
    [
      workflow("a", [{ id: "r", repeat: { max: 2, until: "true", steps: [go("b")] } }]),
      workflow("b", [go("a")]),
    ],
    TWO,
  ],
  [
    "in rounds that begin at times",
    [
      workflow("a", [
        { id: "r", when: "payload.more", repeat: { max: 2, until: "true", steps: [go("b")] } },
      ]),
      workflow("b", [go("a")]),
    ],
    [],
  ],
  [
    "three, by the shortest way",
    [
      workflow("a", [go("d"), go("b")]),
      workflow("b", [go("c")]),
      workflow("c", [go("a")]),
      workflow("d", [go("b")]),
    ],
    [
      `workflow/a: it would start itself again and again: ${A_TO_B}, step "to-c" of "b" starts "c", ` +
      `step "to-a" of "c" starts "a". ${GIVE}`,
      // Another circle, through d.
      'workflow/d: it would start itself again and again: step "to-b" of "d" starts "b", step "to-c" ' +
      `of "b" starts "c", step "to-a" of "c" starts "a", step "to-d" of "a" starts "d". ${GIVE}`,
    ],
  ],
  [
    "one that leads into a circle of others",
    [workflow("z", [go("y")]), workflow("y", [END])],
    [],
  ],
  ["one that starts itself, which its own check refuses", [workflow("a", [go("a")])], []],
  ["one that is not there", [workflow("a", [go("b")])], []],
  [
    "names of another project",
    [workflow("a", [go("b")]), workflow("b", [go("a")], [], "other")],
    [],
  ],
  [
    "a diamond, and a thousand in a row",
    [
      workflow("a", [go("b"), go("c")]),
      workflow("b", [go("d")]),
      workflow("c", [go("d")]),
      ...Array.from({ length: 1000 }, (_, n) => workflow(`n${n}`, [go(`n${n + 1}`)])),
    ],
    [],
  ],
];

for (const [what, all, expected] of CASES) {
  Deno.test(`a circle of workflows: ${what}`, () => {
    deepEqual(circleErrors(all, new Catalog(all)), expected);
  });
}

Deno.test("a circle that is there does not concern the apply of another workflow", () => {
  const all = [workflow("a", [go("b")]), workflow("b", [go("a")])];
  const other = workflow("c", [go("a")]);
  deepEqual(circleErrors([other], new Catalog([...all, other])), []);
});
