/**
 * What people are shown of a worktree is all of it, byte by byte, and nothing that a step has written runs
 * or is obeyed while svc reads it.
 *
 * @module
 */

import { match, ok, rejects, strictEqual as equal } from "node:assert/strict";
import { sealTree } from "../../src/tasks/workspace/sealed_tree.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { findFile } from "../helpers/until.ts";
import { commitSomething, git } from "../rigs/git_repository.ts";
import { type RunRig, runRig } from "../rigs/run_rig.ts";

interface Sealing {
  /** The working tree. */
  readonly dir: string;
  readonly ran: () => Promise<string | undefined>;
  /** A program that leaves a trace. */
  readonly canary: string;
  readonly seal: () => ReturnType<typeof sealTree>;
  readonly write: (path: string, text: string, mode?: number) => Promise<void>;
}

function test(name: string, body: (sealing: Sealing) => Promise<void>): void {
  Deno.test({
    ...skippable(name, missing("git")),
    async fn() {
      await using rig = await runRig();
      await body(await sealingOf(rig));
    },
  });
}

async function sealingOf(rig: RunRig): Promise<Sealing> {
  await commitSomething(rig);
  const dir = rig.workspace;
  const canary = `${rig.dirs.root}/canary.sh`;
  const trace = `${rig.dirs.root}/ran`;
  await Deno.writeTextFile(canary, `#!/bin/sh\necho ran >> '${trace}'\ncat\n`, { mode: 0o755 });
  let tries = 0;
  return {
    dir,
    canary,
    ran: () => findFile(trace),
    async write(path, text, mode = 0o644) {
      await Deno.mkdir(`${dir}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
      await Deno.writeTextFile(`${dir}/${path}`, text, { mode });
    },
    async seal() {
      const tmp = `${rig.dirs.root}/seal${++tries}`;
      await Deno.mkdir(tmp);
      const start = await git(dir, "rev-parse", "HEAD");
      const held = { path: dir, branch: "main", name: "x", common: `${dir}/.git` };
      return await sealTree(held, { start, tmp }, { host: rig.host, taskId: "x" });
    },
  };
}

test("neither filters nor programs of the repository or of the worktree run", async (s) => {
  await git(s.dir, "config", "filter.evil.clean", s.canary);
  await git(s.dir, "config", "core.fsmonitor", s.canary);
  await git(s.dir, "config", "diff.evil.command", s.canary);
  await git(s.dir, "config", "diff.evil.textconv", s.canary);
  await s.write(".gitattributes", "* filter=evil diff=evil\n");
  await s.write("file", "changed\n");
  const { diff } = await s.seal();
  match(diff, /^\+changed$/m);
  equal(await s.ran(), undefined);
});

test("a repository that a step puts in the place of a submodule runs nothing, and is refused", async (s) => {
  const id = await git(s.dir, "rev-parse", "HEAD");
  await git(s.dir, "update-index", "--add", "--cacheinfo", `160000,${id},sub2`);
  await git(s.dir, "commit", "--quiet", "-m", "with a submodule");
  await Deno.mkdir(`${s.dir}/sub2`);
  const whole = await s.seal();
  equal(whole.diff, "");
  await s.write("sub2/hidden.sh", "evil\n");
  await rejects(s.seal(), /"sub2" is a git repository of its own/);
  await git(s.dir, "init", "--quiet", "sub2");
  await s.write("sub2/.gitattributes", "* filter=evil\n");
  await git(`${s.dir}/sub2`, "add", ".");
  await git(`${s.dir}/sub2`, "commit", "--quiet", "-m", "one");
  await git(`${s.dir}/sub2`, "config", "filter.evil.clean", s.canary);
  await s.write("sub2/hidden.sh", "more\n");
  await rejects(s.seal(), /"sub2" is a git repository of its own/);
  equal(await s.ran(), undefined);
});

test("attributes and settings of a step hide nothing", async (s) => {
  await git(s.dir, "config", "core.fileMode", "false");
  await git(s.dir, "config", "core.autocrlf", "true");
  await s.write(".gitattributes", "*.sh ident -diff text\n");
  await s.write("run.sh", "echo $Id: ; evil # $\n");
  const first = await s.seal();
  match(first.diff, /^\+echo \$Id: ; evil # \$$/m);
  await s.write("run.sh", "echo $Id: ; worse # $\n");
  const second = await s.seal();
  ok(first.tree !== second.tree, "text behind $Id:");
  await s.write("run.sh", "echo $Id: ; worse # $\r\n");
  const third = await s.seal();
  ok(second.tree !== third.tree, "the end of a line");
  await Deno.chmod(`${s.dir}/run.sh`, 0o755);
  const fourth = await s.seal();
  ok(third.tree !== fourth.tree, "the mode of a file");
  await Deno.remove(`${s.dir}/run.sh`);
  await Deno.symlink("file", `${s.dir}/run.sh`);
  const fifth = await s.seal();
  ok(fourth.tree !== fifth.tree, "a symbolic link");
});

test("what git does not show as text is not whole, and no NUL reaches a database", async (s) => {
  await s.write("late", `${"a\n".repeat(5000)}\0 evil\n`);
  const { diff } = await s.seal();
  match(diff, /\u2400 evil/);
  ok(!diff.includes("\0"));
});
