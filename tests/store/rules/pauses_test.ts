/**
 * What pauses mean for a claim.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { earlier, whatIsPaused } from "../../../src/store/rules/pauses.ts";

const NOW = 1000;

const CASES = [
  ["nothing", [], { everything: false, projects: [] }],
  ["all, without an end", [{ project: "" }], { everything: true, projects: [] }],
  ["all, until later", [{ project: "", until: 1001 }], {
    everything: true,
    projects: [],
    nextEnd: 1001,
  }],
  ["all, until now", [{ project: "", until: 1000 }], { everything: false, projects: [] }],
  ["a project", [{ project: "a" }], { everything: false, projects: ["a"] }],
  [
    "some projects, one of which is over",
    [{ project: "a", until: 3000 }, { project: "b", until: 2000 }, { project: "c", until: 999 }],
    { everything: false, projects: ["a", "b"], nextEnd: 2000 },
  ],
  ["all and a project", [{ project: "" }, { project: "a", until: 2000 }], {
    everything: true,
    projects: ["a"],
    nextEnd: 2000,
  }],
] as const;

for (const [what, pauses, expected] of CASES) {
  Deno.test(`what is paused: ${what}`, () => deepEqual(whatIsPaused(pauses, NOW), expected));
}

Deno.test("the earlier of two times is that of one if the other is absent", () => {
  deepEqual(
    [earlier(undefined, undefined), earlier(1, undefined), earlier(undefined, 2), earlier(3, 2)],
    [undefined, 1, 2, 2],
  );
});
