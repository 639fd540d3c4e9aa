/**
 * `make test` as a script reads it: its last line counts every failure, that of a file which cannot be
 * loaded included, and its exit code says the same.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import { join } from "node:path";
import { ROOT } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const PASSES = 'Deno.test("passes", () => {});\n';
const FAILS = 'Deno.test("fails", () => { throw new Error("as written"); });\n';
const SKIPPED = 'Deno.test({ name: "skipped", ignore: true, fn() {} });\n';
const CANNOT_BE_LOADED = 'throw new Error("as written");\n';
const NO_TYPESCRIPT = "this is no (\n";

const CASES: readonly (readonly [what: string, files: readonly string[], last: string])[] = [
  ["all pass", [PASSES, PASSES], "2 passed, 0 failed"],
  ["some are skipped", [PASSES + SKIPPED], "1 passed, 0 failed, 1 skipped"],
  ["one fails", [PASSES + FAILS], "1 passed, 1 failed"],
  ["a file cannot be loaded", [PASSES, CANNOT_BE_LOADED], "1 passed, 1 failed"],
  [
    "one fails and two files cannot be loaded",
    [PASSES + FAILS, CANNOT_BE_LOADED, CANNOT_BE_LOADED],
    "1 passed, 3 failed",
  ],
  ["a file is no TypeScript", [PASSES, NO_TYPESCRIPT], "0 passed, 1 failed"],
];

for (const [what, files, last] of CASES) {
  Deno.test(`make test: the last line where ${what}`, async () => {
    await using dir = await tempDir();
    for (const [index, text] of files.entries()) {
      await Deno.writeTextFile(`${dir.path}/${index}_test.ts`, text);
    }
    const { code, lines } = await test(dir.path);
    deepEqual([lines.at(-1), code], [last, last.includes(" 0 failed") ? 0 : 1]);
  });
}

const HERE = 'const all = Deno.env.get("SVC_TEST_ALL") === "1";\n';
/** Tests as a run of everything has them, and as another run does. */
const EITHER = HERE + `
  const slow = (name) => ({ name: all ? name : name + " (SKIPPED: slow)", ignore: !all, fn() {} });
  Deno.test("a name", () => {});
  Deno.test(slow("a name. With [what] (a pattern)* means"));
  Deno.test({ ...slow("run on"), name: all ? "run on (this)" : "run on (this; SKIPPED: slow)" });
  Deno.test({ name: "nowhere (SKIPPED: not here)", ignore: true, fn() {} });
`;
const REPEATED = 'Deno.test("kills" + (all ? "" : " (2 of 9 times) (this)"), () => {});\n';
const OTHER_NAME = 'Deno.test(all ? "10 kills" : "2 kills", () => {});\n';

// Such a name would differ between the two runs, which only the last minute of `.ci/run` would say.
Deno.test("the name of a test that repeats itself has how often in its end alone", async () => {
  const { code, stdout } = await new Deno.Command("grep", {
    args: ["-rnE", "--include=*_test.ts", "[.]count\\}.*[.]inName\\}", join(ROOT, "tests")],
  }).output();
  deepEqual([new TextDecoder().decode(stdout), code], ["", 1]); // 1: it has searched, and found none
});

Deno.test("make test: --skipped-in runs what was skipped, and misses no test that has another name", async () => {
  await using dir = await tempDir();
  const file = join(dir.path, "some_test.ts");
  const output = join(dir.path, "output");
  const both = async (text: string) => {
    await Deno.writeTextFile(file, text);
    const before = await test(dir.path);
    await Deno.writeTextFile(output, before.lines.join("\n"));
    const { code, lines } = await test("--all", "--skipped-in", output, dir.path);
    return [before.lines.at(-1), lines.at(-1), code];
  };
  const either = ["2 passed, 0 failed, 3 skipped", "3 passed, 0 failed, 1 skipped", 0];
  deepEqual(await both(EITHER + REPEATED), either);
  const counted = ["2 passed, 0 failed, 3 skipped", "2 passed, 1 failed, 1 skipped", 1];
  deepEqual(await both(EITHER + OTHER_NAME), counted);
});

/** Runs `.ci/test`, which builds and starts nothing for it. */
async function test(...args: readonly string[]) {
  const { code, stdout } = await new Deno.Command(join(ROOT, ".ci/test"), {
    args: [...args],
    env: {
      SVC_TEST_DIST: "",
      SVC_TEST_AGENTS: "",
      SVC_TEST_POSTGRES: "postgres://nowhere",
      SVC_TEST_ALL: "",
    },
    stderr: "null",
  }).output();
  return { code, lines: new TextDecoder().decode(stdout).trimEnd().split("\n") };
}
