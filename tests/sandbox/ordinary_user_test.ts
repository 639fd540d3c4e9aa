/**
 * The escapes once more where the tests are run by root: all as an ordinary user, the daemon of the
 * steps, too. Root and an ordinary user reach different things, and get their sandboxes in different
 * ways.
 *
 * @module
 */

import { match, ok, strictEqual as equal } from "node:assert/strict";
import { NOT_ALL, ONE_PROGRAM, ROOT, run } from "../helpers/program.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { tempDir } from "../helpers/temp_dir.ts";

const NOBODY = 65534;

/** Runs what follows as that user. */
const AS_NOBODY = `--reuid=${NOBODY} --regid=${NOBODY} --clear-groups --`.split(" ");

const FILES = [
  "tests/sandbox/escapes_test.ts",
  "tests/sandbox/processes_test.ts",
  "tests/tasks/session_home_test.ts",
  "tests/e2e/escapes_test.ts",
];

/** Why nothing can be run as that user here. */
async function findLack(): Promise<string | undefined> {
  if (Deno.uid() !== 0) return "the tests of escapes are run by an ordinary user as it is";
  const lack = missing("perl", "git", "setpriv") ?? NO_SANDBOX;
  if (lack !== undefined) return lack;
  const program = ONE_PROGRAM.name === "compiled" ? ONE_PROGRAM.command : `${ROOT}/cli.ts`;
  for (const path of [...FILES.map((file) => `${ROOT}/${file}`), program, Deno.execPath()]) {
    const { code } = await run("setpriv", [...AS_NOBODY, "test", "-r", path]);
    if (code !== 0) return `an ordinary user cannot read ${path}`;
  }
  if (Deno.env.get("SVC_REQUIRE_SANDBOX") === "1") return undefined;
  const line = "bwrap --unshare-all --ro-bind / / true".split(" ");
  const { code, stderr } = await run("setpriv", [...AS_NOBODY, ...line]);
  return code === 0 ? undefined : `an ordinary user has no sandbox: ${stderr.trim()}`;
}

Deno.test({
  ...skippable("nothing comes out of the sandboxes of an ordinary user", await findLack()),
  async fn() {
    await using dir = await tempDir();
    await Deno.chown(dir.path, NOBODY, NOBODY);
    const tests = ["test", "--no-check", "--allow-all", "--unstable-worker-options", ...FILES];
    const handed = ["SVC_TEST_DIST", "SVC_TEST_ALL"]
      .flatMap((name) => Deno.env.has(name) ? [[name, Deno.env.get(name) ?? ""]] : []);
    // One could be made above: a machine that is too slow for another look skips no test.
    const env = { ...Object.fromEntries(handed), SVC_REQUIRE_SANDBOX: "1" };
    const { code, stdout, stderr } = await run(
      "setpriv",
      [...AS_NOBODY, Deno.execPath(), ...tests],
      {
        cwd: ROOT,
        env: { ...env, HOME: dir.path, TMPDIR: dir.path },
        withinMs: NOT_ALL === undefined ? 1_800_000 : 600_000,
      },
    );
    equal(code, 0, stdout.slice(-20_000) + stderr.slice(-2000));
    match(stdout, /^nothing comes out of a sandbox \.\.\..*ok \(/ms);
    match(stdout, /^nothing comes out of a sandbox of a session \.\.\..*ok \(/ms);
    match(stdout, /^nothing comes out of the sandbox of a step \([a-z]+\) \.\.\..*ok \(/ms);
    match(stdout, /^a home goes whatever a step has left in it \.\.\..*ok \(/m);
    match(stdout, /^a sandbox has as many processes as it may, .*ok \(/m);
    ok(!/^nothing comes out .*SKIPPED/m.test(stdout), stdout.slice(-2000));
  },
});
