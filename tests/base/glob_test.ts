/**
 * Globs: what they match, what they are refused for, and that no name can stall them.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { findGlobFault, Glob } from "../../src/base/glob.ts";
import { cpuMs } from "../helpers/cpu_time.ts";

/** A glob, the paths it matches, and some it does not. */
const CASES: readonly (readonly [glob: string, yes: readonly string[], no: readonly string[]])[] = [
  ["inbox/*.csv", ["inbox/a.csv", "inbox/ b.csv"], [
    "inbox/a.txt",
    "inbox/x/a.csv",
    "a.csv",
    "inbox/.a.csv",
    "inbox",
    "other/inbox/a.csv",
  ]],
  ["inbox/**/*.csv", ["inbox/a.csv", "inbox/x/a.csv", "inbox/x/y/a.csv"], [
    "a.csv",
    "inbox/.git/a.csv",
    "inboxes/a.csv",
  ]],
  ["**", ["a", "a/b"], [".a", "a/.b", ".a/b"]],
  ["docs/**", ["docs/a", "docs/a/b"], ["docs", "docsa"]],
  ["docs/", ["docs/a", "docs/a/b"], ["docs"]],
  ["./docs//a", ["docs/a"], ["docs//a"]],
  ["**/.env", [".env", "a/.env"], ["a/env"]],
  [".github/**/*.yml", [".github/a.yml", ".github/workflows/a.yml"], ["github/a.yml"]],
  ["a?c", ["abc", "a😀c", "a\nc"], ["ac", "abbc", "a/c"]],
  ["[a-c]x", ["ax", "cx"], ["dx", "x"]],
  ["[!a-c]x", ["dx", "😀x"], ["ax", ".x"]],
  ["[]a-]", ["]", "a", "-"], ["b"]],
  ["*.{csv,tar.gz}", ["a.csv", "a.tar.gz"], ["a.tar", "a.{csv,tar.gz}"]],
  ["{in,out/{a,b}}/x", ["in/x", "out/a/x", "out/b/x"], ["out/x", "out/c/x"]],
  ["a\\[1\\]\\*\\{b", ["a[1]*{b"], ["a1*{b", "a[1]xx{b"]],
  ["a*b*c", ["abc", "aXbYc", "abbc", "abcbc"], ["ab", "abcX"]],
  ["a**b", ["ab", "axxb"], ["a/b"]],
  ["(a|b)+$", ["(a|b)+$"], ["a", "b"]],
];

for (const [glob, yes, no] of CASES) {
  Deno.test(`Glob ${JSON.stringify(glob)} matches what it says and nothing else`, () => {
    const compiled = new Glob(glob);
    deepEqual(yes.filter((path) => !compiled.matches(path)), []);
    deepEqual(no.filter((path) => compiled.matches(path)), []);
  });
}

Deno.test("Glob with dots matches hidden names without their dot being written", () => {
  const glob = new Glob("**/*.tmp", { dots: true });
  deepEqual([".a.tmp", ".x/b.tmp", "c.tmp"].filter((path) => !glob.matches(path)), []);
});

Deno.test("Glob.reaches tells which directories are worth a look", () => {
  const glob = new Glob("src/*/gen/**/*.{ts,js}");
  const at = ["", "src", "src/a", "src/a/gen", "src/a/gen/x/y", "src/a/b", "lib", "src/.a"];
  deepEqual(at.filter((path) => glob.reaches(path)), at.slice(0, 5));
});

Deno.test("Glob.base is the directory that every match lies in", () => {
  const bases = ["inbox/*.csv", "a/b/c.txt", "*.csv", "a/{b,c}/d", "a/b{c,d}/e", "{a,b}/c", "a/"];
  deepEqual(bases.map((glob) => new Glob(glob).base), ["inbox", "a/b", "", "a", "a", "", "a"]);
  equal(new Glob("a\\*/b").base, "a*");
});

Deno.test("findGlobFault says what is wrong and what to write instead", () => {
  equal(findGlobFault("inbox/*.csv"), undefined);
  match(
    findGlobFault("in[box") ?? "",
    /^"in\[box" is not a glob: a "\[" is not closed, write \\\[/,
  );
  match(findGlobFault("{a,b") ?? "", /a "\{" is not closed/);
  match(findGlobFault("a\\") ?? "", /ends in a backslash/);
  match(findGlobFault("{a,b}".repeat(20)) ?? "", /more than 256 patterns/);
});

Deno.test("no name stalls a glob, however it is made", () => {
  const glob = new Glob(`${"*a".repeat(60)}b`);
  const deep = new Glob(`${"**/a*/".repeat(20)}b`);
  const before = cpuMs();
  equal(glob.matches("a".repeat(255)), false);
  equal(deep.matches(`${"a/".repeat(2000)}c`), false);
  const took = cpuMs() - before;
  ok(took < 1000, `${took} ms`);
});
