/**
 * What a task takes room in, and what is the same group, event or burst.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { debounceDigest, dedupDigest, groupDigest } from "../../../src/store/rules/keys.ts";
import { limitsOf, sameLimits } from "../../../src/store/rules/limits.ts";
import { toHex } from "../../../src/base/bytes.ts";
import type { NewTask } from "../../../src/store/task_records.ts";

const TASK: NewTask = {
  id: "new",
  project: "default",
  trigger: "push",
  workflow: "ci",
  workspace: "repo",
};
const queue = (key: string, max = 1): Partial<NewTask> => ({
  concurrency: { policy: "Queue", key, max },
});

Deno.test("a task without limits belongs to no group, and is named by nothing", () => {
  deepEqual(limitsOf(TASK), { workspace: { project: "default", name: "repo" } });
  deepEqual([dedupDigest(TASK), groupDigest(TASK), debounceDigest(TASK)], [
    undefined,
    undefined,
    undefined,
  ]);
});

Deno.test("a digest is that of project, trigger and key; an empty key is one, too", () => {
  const keys = [
    { ...TASK, dedupKey: "a" },
    { ...TASK, dedupKey: "" },
    { ...TASK, dedupKey: "a", trigger: "other" },
    { ...TASK, dedupKey: "a", project: "other" },
    { ...TASK, dedupKey: "a", project: "default\npush", trigger: "" },
  ];
  const digests = keys.map((task) => toHex(dedupDigest(task) ?? new Uint8Array()));
  equal(new Set(digests).size, keys.length);
  // Existing databases hold these keys, so they must not change: sha256 of ["default","push","a"].
  equal(digests[0], "588eeef1a66d20e3eef5282ba7f5cc0a4b8fb8b70dc98e1bc265f2508fc3842c");
});

const SAME: readonly [a: Partial<NewTask>, b: Partial<NewTask>, same: boolean][] = [
  [{}, {}, true],
  [queue("a"), queue("a"), true],
  [queue("a"), queue("b"), false],
  [queue("a"), queue("a", 2), false],
  [queue("a"), {}, false],
  [{}, queue("a"), false],
  [{}, { workspace: "other" }, false],
  [{ workspaceMax: 1 }, { workspaceMax: 1 }, true],
  [{ workspaceMax: 1 }, { workspaceMax: 2 }, false],
  [{ workspaceMax: 1 }, {}, false],
  [{}, { workflow: "other" }, true],
];

for (const [a, b, same] of SAME) {
  Deno.test(`${JSON.stringify(a)} and ${JSON.stringify(b)}: ${same ? "same" : "other"} limits`, () => {
    equal(sameLimits(limitsOf({ ...TASK, ...a }), limitsOf({ ...TASK, ...b })), same);
  });
}
