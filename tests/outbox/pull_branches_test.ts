/**
 * Names of branches: each has the form that git takes, whatever the key is.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import { missing, skippable } from "../helpers/requirements.ts";
import { branchOf, nthBranch } from "../../src/outbox/pull_branches.ts";

const NAMES: readonly (readonly [key: string, number: number | undefined, branch: string])[] = [
  ["fix", 42, "svc/fix-42"],
  ["fix", undefined, "svc/fix"],
  ["Fix The_Thing", 7, "svc/fix-the_thing-7"],
  ["a/b//c", 1, "svc/a/b/c-1"],
  ["a/../b", 1, "svc/a/b-1"],
  ["a..b", undefined, "svc/a.b"],
  ["a.lock", undefined, "svc/a"],
  ["a.lock/b.lock.lock", undefined, "svc/a/b"],
  [".hidden/-option", undefined, "svc/hidden/option"],
  ["end.", undefined, "svc/end"],
  ["x@{1}", undefined, "svc/x-1-"],
  ["größe ⚙", undefined, "svc/gr-e-"],
];

Deno.test("a branch is the prefix, the key in lower case, and the number", () => {
  for (const [key, number, branch] of NAMES) {
    const named = number === undefined ? {} : { about: String(number) };
    equal(branchOf({ prefix: "svc/", key, ...named }), branch, key);
  }
});

Deno.test(skippable("git takes every name", missing("git")), async () => {
  const keys = [
    ...NAMES.map(([key]) => key),
    "a".repeat(253),
    `${"a/".repeat(120)}b`,
    "a.lock.",
    "1.lock./2",
  ];
  for (const prefix of ["svc/", "bot.lock/", "with space/", "no-slash-", "a/-b/"]) {
    for (const key of keys) {
      for (const number of [undefined, 123456]) {
        const named = number === undefined ? {} : { about: String(number) };
        const branch = nthBranch(branchOf({ prefix, key, ...named }), 50);
        ok(branch.length <= 200, `${branch.length} characters`);
        const { code } = await new Deno.Command("git", {
          args: ["check-ref-format", "--branch", branch],
        }).output();
        equal(code, 0, branch);
      }
    }
  }
});
