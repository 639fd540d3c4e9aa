/**
 * The version number in what programs print for `--version`.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { findVersion } from "../../src/control/agents/agent_program.ts";

const CASES: readonly (readonly [printed: string, version: string | undefined])[] = [
  ["2.1.197 (Claude Code)\n", "2.1.197"],
  ["codex-cli 0.169.0\n", "0.169.0"],
  ["1.0.102\nCommit: 0a1b2c3d\n", "1.0.102"],
  ["v1.2.3-beta.4+build.5\n", "1.2.3-beta.4+build.5"],
  ["This is version 1.2.\n", "1.2"],
  ["\x1b]0;9.9.9\x07\x1b[1m1.2.3\x1b[0m\n", "1.2.3"],
  [" 1.0.0\n", "1.0.0"],
  ["\r\n\t1.0.0 and 2.0.0", "1.0.0"],
  [`${"noise ".repeat(200)}1.0.0`, "1.0.0"],
  [`${"noise ".repeat(20_000)}1.0.0`, undefined],
  [`1.${"9".repeat(100_000)}`, `1.${"9".repeat(59)}`],
  ["usage: my-agent [--x]\n", undefined],
  ["commit a1.2b\n", undefined],
  ["", undefined],
];

Deno.test("the version of a program is the first number that looks like one", () => {
  for (const [printed, version] of CASES) {
    equal(findVersion(printed), version, printed.slice(0, 80));
  }
});
