/**
 * What an apply says of the machine: only what is not there, and in time.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { machineWarnings } from "../../src/tasks/workspace/machine_warnings.ts";
import { Catalog } from "../../src/resources/catalog.ts";
import { readManifests } from "../../src/resources/read_manifests.ts";
import type { ResolvedNeed } from "../../src/tasks/workspace/machine.ts";
import { missing } from "../helpers/requirements.ts";
import { controlTest } from "../rigs/control_rig.ts";

const WATCH = `
kind: Trigger
metadata: {name: files}
spec:
  event: {source: filesystem, filesystem: {paths: ["in/*.csv"]}}
  action: {workflow: w, workspace: ws}`;

const WORKFLOW = `
kind: Workflow
metadata: {name: w}
spec: {steps: [{id: a, run: x, shell: [no-such-shell, -u]}]}`;

const workspace = (path: string, more = "") =>
  `kind: Workspace\nmetadata: {name: ws}\nspec: {path: ${path}${more}}`;

async function git(path: string, ...args: string[]): Promise<void> {
  const { success } = await new Deno.Command("git", {
    args: ["-C", path, "-c", "user.name=a", "-c", "user.email=a@b", ...args],
    stdout: "null",
    stderr: "null",
  }).output();
  ok(success, `git ${args[0]}`);
}

controlTest("a workspace is looked for as its tasks will look for it", async (rig) => {
  const { root } = rig.dirs;
  const warnings = async (...texts: string[]) => (await rig.apply(...texts)).warnings;
  deepEqual(await warnings(workspace("code")), [
    `0.yaml:3:8: spec.path: "${root}/code" does not exist: make it, or change the path of the ` +
    "Workspace (a relative path starts at the data directory)",
  ]);
  deepEqual(await warnings(workspace("~/code")), [
    '0.yaml:3:8: spec.path: "/nonexistent/code" does not exist: make it, or change the path of ' +
    "the Workspace",
  ]);
  await Deno.writeTextFile(`${root}/code`, "");
  match((await warnings(workspace("code")))[0] ?? "", /code" is not a directory: change the path/);
  await Deno.remove(`${root}/code`);
  await Deno.mkdir(`${root}/code`);
  deepEqual(await warnings(workspace("code")), []);
  match(
    (await warnings(workspace("code", ", isolation: worktree")))[0] ?? "",
    /code" is not a git repository: run "git init" there, or set "isolation: copy"$/,
  );
  await git(`${root}/code`, "init", "--quiet");
  match((await warnings(workspace("code", ", isolation: worktree")))[0] ?? "", /no commit yet/);
  await git(`${root}/code`, "commit", "--quiet", "--allow-empty", "-m", "one");
  deepEqual(await warnings(workspace("code", ", isolation: worktree")), []);
}, { skip: missing("git") });

controlTest(
  "programs are looked for where steps look, and files where triggers do",
  async (rig) => {
    const { root, udsPolicy } = rig.dirs;
    await Deno.writeTextFile(udsPolicy, "max_role: admin\n", { mode: 0o600 }); // else that is told
    await Deno.mkdir(`${root}/code`);
    const path = `${rig.dirs.bin}:/usr/bin:/bin`;
    const agent = (command: string) =>
      `kind: Agent\nmetadata: {name: a}\nspec: {command: ${command}, timeout: 30m, sandbox: none}`;
    const missing = (name: string) =>
      `The program "${name}" is not installed, or not where steps look (PATH is ${path}): ` +
      "install it, write its whole path, or start the daemon with its directory on PATH";
    const { warnings } = await rig.apply(
      agent("no-such-agent --print"),
      WORKFLOW,
      workspace("code"),
      WATCH,
    );
    deepEqual(warnings, [
      `0.yaml:3:8: spec.command: ${
        missing("no-such-agent")
      }. To see that it works: svc agent check a`,
      `1.yaml:4:32: spec.steps.0.shell: ${missing("no-such-shell")}`,
      `3.yaml:5:52: spec.event.filesystem.paths.0: The directory "${root}/code/in" does ` +
      "not exist yet: until then, this glob matches nothing",
    ]);
    // Not executable is as good as not there, until it is.
    await Deno.writeTextFile(`${rig.dirs.bin}/no-such-agent`, "", { mode: 0o600 });
    equal((await rig.apply(agent("no-such-agent"))).warnings.length, 1);
    await Deno.chmod(`${rig.dirs.bin}/no-such-agent`, 0o700);
    deepEqual((await rig.apply(agent("no-such-agent"))).warnings, []);
    deepEqual((await rig.apply(agent("/no/such/agent"))).warnings, [
      '0.yaml:3:8: spec.command: The program "/no/such/agent" does not exist: install it, or change ' +
      "its path. To see that it works: svc agent check a",
    ]);
    // The workspace of a trigger may have been applied before.
    await Deno.remove(`${root}/code`);
    match(
      (await rig.apply(WATCH)).warnings[0] ?? "",
      /paths\.0: ".*\/code" does not exist: make it/,
    );
    equal((await rig.apply(workspace("code"), WATCH)).warnings.length, 1);
  },
);

controlTest("a dry run looks as well, and changes nothing", async (rig) => {
  const files = [{ name: "w.yaml", text: workspace("code") }];
  const { warnings } = await rig.client.call("apply", { files, dry_run: true });
  match(warnings[0] ?? "", /^w\.yaml:3:8: spec\.path: ".*\/code" does not exist/);
  const { items } = await rig.client.call("get", { what: "workspaces", limit: 10 });
  deepEqual(items, []);
});

controlTest("a daemon that is alone says that it is the node of every workspace", async (rig) => {
  await Deno.mkdir(`${rig.dirs.root}/code`);
  deepEqual((await rig.apply(workspace("code", ", nodes: [gpu, box-2]"))).warnings, [
    "0.yaml:3:20: spec.nodes: Tasks in this workspace run on this machine, not only on gpu, " +
    "box-2: a daemon without PostgreSQL is the only node",
  ]);
});

/** Warnings about workspaces `0`, `1`, …; `faultOf` is the machine, `pass` lets the time pass. */
function warningsWith(
  count: number,
  faultOf: (need: ResolvedNeed, signal: AbortSignal) => Promise<string | undefined>,
) {
  const text = Array.from(
    { length: count },
    (_, n) => `kind: Workspace\nmetadata: {name: w${n}}\nspec: {path: /${n}}\n`,
  ).join("---\n");
  const read = readManifests({ files: [{ name: "f", text }], crds: [] });
  let pass = () => {};
  const after = (_ms: number, then: () => void) => {
    pass = then;
    return { [Symbol.dispose]: () => {} };
  };
  const clock = { ...systemClock, after };
  const warnings = machineWarnings(read, {
    catalog: new Catalog([]),
    clock,
    machine: { faultOf },
  });
  return { warnings, pass: () => pass() };
}

const pathOf = (need: ResolvedNeed) => "path" in need ? need.path : "";

Deno.test("a check that does not answer delays nothing", async () => {
  const signals: AbortSignal[] = [];
  const { warnings, pass } = warningsWith(3, (need, signal) => {
    signals.push(signal);
    return pathOf(need) === "/1" ? new Promise(() => {}) : Promise.resolve("is missing");
  });
  await new Promise((resolve) => setTimeout(resolve)); // the others have answered
  pass();
  deepEqual(await warnings, [
    "f:3:8: spec.path: is missing",
    'f:7:8: spec.path: "/1" could not be checked within 2 seconds: see whether its disk responds',
  ]);
  ok(signals.every(({ aborted }) => aborted), "its processes are ended");
});

Deno.test("only a few things are checked at once, and the rest is reported", async () => {
  let begun = 0;
  const { warnings, pass } = warningsWith(20, () => {
    begun++;
    return new Promise(() => {});
  });
  equal(begun, 8);
  pass();
  const told = await warnings;
  equal(told.length, 9);
  equal(told.at(-1), "12 paths and programs were not checked: the others took 2 seconds");
});

Deno.test("a machine that cannot be checked is reported, and nothing fails", async () => {
  const { warnings } = warningsWith(1, () => Promise.reject(new Error("no descriptors")));
  deepEqual(await warnings, ['f:3:8: spec.path: "/0" cannot be checked: no descriptors']);
});
