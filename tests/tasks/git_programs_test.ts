/**
 * No program that the configuration of a repository names runs when svc makes or removes a worktree,
 * whether the repository of the workspace names it or one that a step has put in its place.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { missing, skippable } from "../helpers/requirements.ts";
import { findFile } from "../helpers/until.ts";
import { commitSomething, git } from "../rigs/git_repository.ts";
import { type RunRig, runRig } from "../rigs/run_rig.ts";

const WORKTREE = { workspace: "{path: repo, isolation: worktree}" };

function test(name: string, body: (rig: RunRig) => Promise<void>): void {
  Deno.test({
    ...skippable(name, missing("git")),
    async fn() {
      await using rig = await runRig();
      await body(rig);
    },
  });
}

const canaryOf = (rig: RunRig) => `${rig.dirs.root}/canary.sh`;
const ran = (rig: RunRig) => findFile(`${rig.dirs.root}/ran`);

/** A program that leaves a trace, also under the name of a remote helper on the PATH of svc. */
async function makeCanary(rig: RunRig): Promise<void> {
  const script = `#!/bin/sh\necho "$0 $*" >> '${rig.dirs.root}/ran'\nexit 1\n`;
  for (const path of [canaryOf(rig), `${rig.dirs.bin}/git-remote-canary`]) {
    await Deno.writeTextFile(path, script, { mode: 0o755 });
  }
}

type Settings = readonly (readonly [name: string, value: string])[];

/** What a repository may say of the remote from which missing objects come. */
const REMOTES: readonly (readonly [what: string, settings: (canary: string) => Settings])[] = [
  ["a program of the other side", (canary) => [
    ["remote.o.url", "/nowhere/repo.git"],
    ["remote.o.uploadpack", canary],
  ]],
  ["a program in the place of ssh", (canary) => [
    ["remote.o.url", "ssh://host.invalid/repo.git"],
    ["core.sshCommand", canary],
  ]],
  ["a command as its address", (canary) => [["remote.o.url", `ext::${canary} %S`]]],
  ["a helper as its address", () => [["remote.o.url", "canary::repo"]]],
  ["a helper by name", () => [["remote.o.url", "repo"], ["remote.o.vcs", "canary"]]],
  ["a proxy of git's protocol", (canary) => [
    ["remote.o.url", "git://host.invalid/repo.git"],
    ["core.gitProxy", canary],
  ]],
];

/** Makes objects of a repository come from a remote with these settings, and all that it asks for. */
async function promise(repository: string, settings: Settings): Promise<void> {
  const protocols = ["file", "ssh", "ext", "canary", "git"];
  for (
    const [name, value] of [
      ["core.repositoryFormatVersion", "1"],
      ["extensions.partialClone", "o"],
      ["remote.o.promisor", "true"],
      ["protocol.allow", "always"],
      ...protocols.map((protocol) => [`protocol.${protocol}.allow`, "always"] as const),
      ...settings,
    ] as const
  ) {
    await git(repository, "config", name, value);
  }
}

/** Removes an object, as a partial clone lacks it. */
async function lose(repository: string, name: string): Promise<void> {
  const id = await git(repository, "rev-parse", name);
  const objects = await git(
    repository,
    "rev-parse",
    "--path-format=absolute",
    "--git-path",
    "objects",
  );
  await Deno.remove(`${objects}/${id.slice(0, 2)}/${id.slice(2)}`);
}

for (const [what, settings] of REMOTES) {
  test(`worktree: ${what} does not run when it is made without all objects, and the task says what to do`, async (rig) => {
    await commitSomething(rig);
    await makeCanary(rig);
    await promise(rig.workspace, settings(canaryOf(rig)));
    await lose(rig.workspace, "HEAD:file");
    const { state, reason } = await rig.all("{steps: [{id: a, run: 'true'}]}", WORKTREE);
    equal(await ran(rig), undefined);
    equal(state, "failed");
    match(reason, /is a partial clone that lacks objects of the commit.*clone it without/);
  });

  test(`worktree: ${what} does not run when it is removed, although a step says so`, async (rig) => {
    await commitSomething(rig);
    await makeCanary(rig);
    const commands = settings(canaryOf(rig)).map(([name, value]) =>
      `git config ${name} '${value}'`
    );
    const lines = [
      "git -c user.name=A -c user.email=a@b -c commit.gpgsign=false commit -q --allow-empty -m x",
      "git config core.repositoryFormatVersion 1",
      "git config extensions.partialClone o",
      "git config remote.o.promisor true",
      "git config protocol.allow always",
      ...commands,
      // The commit that is looked for when what is its own is kept.
      `id=$(git rev-parse HEAD); cd ${rig.workspace}/.git/objects; rm -f \${id%\${id#??}}/\${id#??}`,
    ];
    const { task } = await rig.all(
      JSON.stringify({ steps: [{ id: "a", run: lines.join("\n") }] }),
      WORKTREE,
    );
    await rig.host.directories.discard(task);
    equal(await ran(rig), undefined);
  });
}

test("worktree: hooks that the configuration defines are off whenever git runs a program", async (rig) => {
  await commitSomething(rig);
  // For a git before 2.54, which lacks the setting, the programs that it runs show the result.
  const names = ["a", "b.c d=e", "post-checkout"];
  for (const name of names) {
    await git(rig.workspace, "config", `hook.${name}.event`, "post-checkout");
    await git(rig.workspace, "config", `hook.${name}.command`, "true");
    await git(rig.workspace, "config", `hook.${name}.enabled`, "true");
  }
  await Deno.writeTextFile(`${rig.workspace}/.git/info/attributes`, "file filter=show\n");
  const show = `cat > /dev/null; git config --get-regexp 'hook.*enabled' > ${rig.dirs.root}/shown`;
  await git(rig.workspace, "config", "filter.show.smudge", show);
  const { state } = await rig.all("{steps: [{id: a, run: 'true'}]}", WORKTREE);
  equal(state, "succeeded");
  const shown = (await findFile(`${rig.dirs.root}/shown`) ?? "").trim().split("\n");
  deepEqual(shown.slice(-names.length), names.map((name) => `hook.${name}.enabled false`));
});

/** A repository beside the workspace, all of whose settings run the canary, and its worktree `x`. */
async function elsewhere(rig: RunRig): Promise<string> {
  const path = `${rig.dirs.root}/elsewhere`;
  await git(rig.dirs.root, "clone", "--quiet", "--no-local", rig.workspace, path);
  await git(path, "worktree", "add", "--quiet", "-b", "x", `${rig.dirs.root}/x`);
  await makeCanary(rig);
  const canary = canaryOf(rig);
  await promise(path, [
    ["remote.o.url", "/nowhere/repo.git"],
    ["remote.o.uploadpack", canary],
    ["core.sshCommand", canary],
    ["core.fsmonitor", canary],
    ["core.hooksPath", `${rig.dirs.root}/hooks`],
    ["core.alternateRefsCommand", canary],
    ["filter.f.clean", canary],
    ["filter.f.smudge", canary],
    ["filter.f.process", canary],
  ]);
  await Deno.writeTextFile(`${path}/.git/info/attributes`, "* filter=f\n");
  const id = await git(path, "rev-parse", "HEAD");
  const packs = `${path}/.git/objects/pack`;
  for (const { name } of [...Deno.readDirSync(packs)]) await Deno.remove(`${packs}/${name}`);
  await Deno.remove(`${path}/.git/objects/${id.slice(0, 2)}/${id.slice(2)}`).catch(() => {});
  return path;
}

/** How a step puts another repository in the place of its own. */
const REWRITTEN: readonly (readonly [what: string, line: string])[] = [
  ["the file .git names another repository", 'echo "gitdir: $OTHER/.git" > .git'],
  ["the file .git names a worktree of another", 'echo "gitdir: $OTHER/.git/worktrees/x" > .git'],
  [".git is a link", 'rm .git; ln -s "$OTHER/.git" .git'],
  [".git is a directory", 'rm .git; cp -R "$OTHER/.git" .git'],
  [".git is gone, and a bare repository in its place", 'rm .git; cp -R "$OTHER/.git/." .'],
  [".git is a pipe", "rm .git; mkfifo .git"],
  [
    "the registration names another repository",
    'echo "$OTHER/.git" > "$(git rev-parse --git-dir)/commondir"',
  ],
  [
    "the registration is a link",
    'dir=$(git rev-parse --git-dir); rm -r "$dir"; ln -s "$OTHER/.git/worktrees/x" "$dir"',
  ],
  [
    "a configuration of the worktree",
    'git config extensions.worktreeConfig true; cp "$OTHER/.git/config" "$(git rev-parse --git-dir)/config.worktree"; git config core.worktree "$OTHER"',
  ],
  [
    "a configuration that is included, and objects of another",
    'echo "$OTHER/.git/objects" >> "$(git rev-parse --git-common-dir)/objects/info/alternates"; git config include.path "$OTHER/.git/config"',
  ],
];

for (const [what, line] of REWRITTEN) {
  test(`worktree: ${what}: nothing of it runs, and all of the task goes`, async (rig) => {
    await commitSomething(rig);
    const other = await elsewhere(rig);
    const workflow = (end: string) =>
      JSON.stringify({
        steps: [{ id: "a", env: { OTHER: other }, run: `${line}\n${end}` }],
      });
    const done = await rig.all(workflow("exit 0"), WORKTREE);
    equal(done.state, "succeeded");
    const failed = await rig.all(workflow("exit 1"), WORKTREE);
    equal(failed.state, "failed");
    ok(failed.task.directory !== "");
    await rig.host.directories.discard(failed.task); // as retention does

    equal(await ran(rig), undefined);
    equal([...Deno.readDirSync(rig.dirs.worktrees)].length, 0);
    const branches = await git(rig.workspace, "for-each-ref", "--format=%(refname)");
    equal(branches, "refs/heads/main");
    equal(await findFile(`${other}/.git/HEAD`), "ref: refs/heads/main\n", "the other one is whole");
  });
}
