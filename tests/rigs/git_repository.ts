/**
 * Runs git for tests, without the configuration of the user.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import type { RunRig } from "./run_rig.ts";

/** Runs git, fails unless it succeeds, and returns its output. */
export async function git(cwd: string, ...args: string[]): Promise<string> {
  const who = ["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"];
  const { code, stdout, stderr } = await new Deno.Command("git", {
    args: ["-C", cwd, ...who, ...args],
    env: { GIT_CONFIG_GLOBAL: "/dev/null", LC_ALL: "C" },
  }).output();
  equal(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}

/** Makes the workspace a repository with one commit of a file `file` and a folder `sub`. */
export async function commitSomething(rig: RunRig): Promise<void> {
  await git(rig.workspace, "init", "--quiet", "--initial-branch=main");
  await Deno.writeTextFile(`${rig.workspace}/file`, "committed\n");
  await Deno.mkdir(`${rig.workspace}/sub`);
  await Deno.writeTextFile(`${rig.workspace}/sub/inner`, "inner\n");
  await git(rig.workspace, "add", ".");
  await git(rig.workspace, "commit", "--quiet", "-m", "one");
}
