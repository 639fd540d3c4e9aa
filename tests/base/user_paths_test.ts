/**
 * Paths of manifests: where each starts.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { pathResolver } from "../../src/base/user_paths.ts";

const CASES: readonly [path: string, at: string][] = [
  ["/srv/code", "/srv/code"],
  ["~", "/home/me"],
  ["~/", "/home/me"],
  ["~/code/app", "/home/me/code/app"],
  ["~/../you", "/home/you"],
  ["code", "/data/code"],
  ["./~/code", "/data/~/code"],
  ["a/~", "/data/a/~"],
  ["../code", "/code"],
  ["", "/data"],
];

for (const [path, at] of CASES) {
  Deno.test(`the path "${path}" is ${at}`, () => {
    equal(pathResolver({ from: "/data", home: "/home/me" })(path), at);
  });
}

Deno.test("without a home directory, ~ is a name like any other", () => {
  equal(pathResolver({ from: "/data", home: undefined })("~/code"), "/data/~/code");
});
