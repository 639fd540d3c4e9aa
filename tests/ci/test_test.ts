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
    const { code, stdout } = await new Deno.Command(join(ROOT, ".ci/test"), {
      args: [dir.path],
      // So that nothing is built or started for it.
      env: { SVC_TEST_DIST: "", SVC_TEST_POSTGRES: "postgres://nowhere", SVC_TEST_ALL: "" },
      stderr: "null",
    }).output();
    const lines = new TextDecoder().decode(stdout).trimEnd().split("\n");
    deepEqual([lines.at(-1), code], [last, last.includes(" 0 failed") ? 0 : 1]);
  });
}
