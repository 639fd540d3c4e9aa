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
  const dir = `${rig.dirs.root}/x`;
  await git(rig.workspace, "worktree", "add", "--quiet", "-b", "task", dir);
  let start = "";
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
      if (start === "") start = await git(dir, "rev-parse", "HEAD");
      const held = { path: dir, branch: "task", name: "x", common: `${rig.workspace}/.git` };
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

test("no NUL reaches a database", async (s) => {
  await s.write("late", `${"a\n".repeat(5000)}\0 evil\n`);
  const { diff, isCut } = await s.seal();
  match(diff, /\u2400 evil/);
  ok(!diff.includes("\0"));
  equal(isCut, false);
});

test("what is not shown as text is named, and the change does not count as whole", async (s) => {
  await s.write("text", "all of it\n");
  equal((await s.seal()).isCut, false);
  await s.write("a\tpicture", "\0\u0001evil");
  const binary = await s.seal();
  match(binary.diff, /^\+all of it$/m);
  match(binary.diff, /^\[Not shown: what is in "a\\tpicture": no text\]$/m);
  equal(binary.isCut, true);
  await Deno.remove(`${s.dir}/a\tpicture`);
  await Deno.writeFile(`${s.dir}/latin`, new Uint8Array([0xe9, 0x0a]));
  const latin = await s.seal();
  match(latin.diff, /^\[Not shown: characters that are none of UTF-8/m);
  equal(latin.isCut, true);
  await Deno.remove(`${s.dir}/latin`);
  await s.write("text", "all of it\n".repeat(200_000));
  const long = await s.seal();
  match(long.diff, /^A\ttext\n\[Not shown: the lines of these files/);
  equal(long.isCut, true);
});

test("many files without text are counted", async (s) => {
  for (let i = 0; i < 25; i++) await s.write(`picture${i}`, "\0");
  match((await s.seal()).diff, / and 5 more: no text\]$/m);
});

test("a commit that leaves the files as they are is another seal, and is shown", async (s) => {
  const before = await s.seal();
  await git(
    s.dir,
    "commit",
    "--quiet",
    "--allow-empty",
    "-m",
    "Fix\n\ndiff --git a/x b/x\n[Not shown: x]",
  );
  const after = await s.seal();
  equal(after.tree, before.tree);
  equal(after.head, await git(s.dir, "rev-parse", "HEAD"));
  ok(after.head !== before.head);
  match(after.diff, new RegExp(`^commit ${after.head}\nAuthor: .+ <.+>\n\n {4}Fix\n`));
  match(after.diff, /^ {4}diff --git a\/x b\/x$/m);
  match(after.diff, /^ {4}\[Not shown: x\]$/m);
  equal(after.isCut, false);
  await git(s.dir, "checkout", "--quiet", "--detach", before.head);
  equal((await s.seal()).head, before.head);
});

test("files of a commit that are not those of the worktree are shown as well", async (s) => {
  await s.seal();
  await s.write("file", "nice\n");
  await git(s.dir, "commit", "--quiet", "-am", "nice");
  equal((await s.seal()).diff.match(/^\+nice$/gm)?.length, 1);
  await s.write("file", "evil\n");
  await git(s.dir, "commit", "--quiet", "-am", "more");
  await s.write("file", "nice\n");
  const { diff, isCut } = await s.seal();
  const [shown = "", committed = ""] = diff.split(
    /^\[The commit [0-9a-f]{40} has other files\. .*\]$/m,
  );
  match(shown, /^\+nice$/m);
  ok(!shown.includes("evil"));
  match(committed, /^-nice\n\+evil$/m);
  equal(isCut, false);
});

test("a worktree without a commit is refused", async (s) => {
  await s.seal();
  await git(s.dir, "symbolic-ref", "HEAD", "refs/heads/none");
  await rejects(s.seal(), /HEAD names no commit/);
});
