/**
 * Worktrees that an agent has prepared against whoever reads them: `svc github pr create` runs in the
 * sandbox of the step, and nothing comes out that the change does not hold. Neither a program of the
 * worktree runs outside, nor does any process of the step see a token.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  doesNotMatch,
  match,
  ok,
  strictEqual as equal,
} from "node:assert/strict";
import { TOKEN } from "../fakes/github.ts";
import { NO_DATABASE, programTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { messageOf, REPOSITORY } from "../rigs/change_rig.ts";
import { git } from "../rigs/git_repository.ts";
import { runStep, type StepRig, stepRig, type Tried } from "../rigs/step_rig.ts";

const LACKS = missing("git") ?? NO_SANDBOX;

/** The pull request that came of a step, once it is sent: its files with their texts. */
async function filesOf(
  { daemon, fake }: StepRig,
  { printed }: Tried,
): Promise<Record<string, string>> {
  const [, id = ""] = /queued as outbox\/(\w+)/.exec(printed) ?? [];
  ok(id !== "", printed);
  const message = await messageOf(daemon, id);
  equal(message.state, "sent", message.reason);
  const branch = "svc/fix-1";
  const names = await fake.git.run(REPOSITORY, "ls-tree", "-r", "--name-only", branch);
  const files: Record<string, string> = {};
  for (const name of names.split("\n")) {
    files[name] = await fake.git.run(REPOSITORY, "cat-file", "blob", `${branch}:${name}`);
  }
  return files;
}

const CREATE = 'svc github pr create --all --title "Fix" ';

/**
 * Everything that git runs or obeys, set to a program that reads what lies outside, says who it is, and
 * leaves a mark there.
 */
const evil = (outside: string) => `
mkdir -p "$PWD/.evil"
cat > "$PWD/.evil/program" <<'END'
#!/bin/sh
cat ${outside}/secret >>"$HOME/stolen" 2>/dev/null
env >>"$HOME/environments"
touch ${outside}/ran 2>/dev/null
cat
exit 0
END
chmod +x .evil/program
program=$PWD/.evil/program`;

const SETTINGS = [
  ["core.fsmonitor", "$program"],
  ["core.hooksPath", "$PWD/.evil/hooks"],
  ["core.sshCommand", "$program"],
  ["core.pager", "$program"],
  ["core.editor", "$program"],
  ["core.askPass", "$program"],
  ["core.gitProxy", "$program"],
  ["credential.helper", "$program"],
  ["http.proxy", "http://127.0.0.1:9"],
  ["url.http://127.0.0.1:9/.insteadOf", "https://"],
  ["uploadpack.packObjectsHook", "$program"],
  ["filter.evil.clean", "$program"],
  ["diff.evil.textconv", "$program"],
  ["diff.external", "$program"],
  ["gpg.program", "$program"],
  ["include.path", "$PWD/.evil/more"],
  ["remote.origin.promisor", "true"],
  ["remote.origin.url", "ext::$program"],
  ["extensions.partialClone", "origin"],
];

const HOOKS = [
  "pre-commit",
  "post-index-change",
  "pre-push",
  "reference-transaction",
  "post-checkout",
];

const PLANT = `
mkdir -p .evil/hooks
for name in ${HOOKS.join(" ")}; do cp .evil/program .evil/hooks/$name; done
printf '[core]\\n\\tfsmonitor = %s\\n' "$program" >.evil/more
${
  SETTINGS.map(([key, value]) =>
    `git config --global ${key} "${value}"; git config ${key} "${value}" 2>/dev/null || true`
  ).join("\n")
}
echo '*.txt filter=evil diff=evil' >.gitattributes
echo .evil >>.gitignore
echo '/.gitattributes' >>.gitignore
echo '/.gitignore' >>.gitignore
echo changed >a.txt`;

for (const isolation of ["worktree", "copy"] as const) {
  programTest(
    `no program that a ${isolation} names runs outside, none has a token, and only the change comes out`,
    async () => {
      await using rig = await stepRig();
      const secret = `secret-${crypto.randomUUID()}`;
      await rig.outside.write("secret", secret);
      const onto = isolation === "copy" ? "--onto HEAD" : "";
      const tried = await runStep(
        rig,
        { isolation },
        `${evil(rig.outside.path)}\n${PLANT}\n${CREATE}${onto}\n` +
          `echo BEGIN; cat "$HOME/stolen" "$HOME/environments" 2>/dev/null || true; echo END`,
      );
      equal(tried.state, "succeeded", tried.printed);
      deepEqual(await filesOf(rig, tried), { "README.md": "# Tidepool", "a.txt": "changed" });
      const [, seen = ""] = /BEGIN([\s\S]*)END/.exec(tried.printed) ?? [];
      match(seen, /PATH=/, "the filter has run, inside");
      doesNotMatch(seen, new RegExp(`${secret}|${TOKEN.token}|SVC_RUN_TOKEN=|SVC_TOKEN=`));
      const left = [...Deno.readDirSync(rig.outside.path)].map(({ name }) => name);
      deepEqual(left, ["secret"], "nothing ran outside");
    },
    { skip: LACKS, fileOnly: NO_DATABASE },
  );
}

programTest(
  "outside of a sandbox the same program reaches what lies beside the worktree",
  async () => {
    await using rig = await stepRig();
    const secret = `secret-${crypto.randomUUID()}`;
    await rig.outside.write("secret", secret);
    const script = `export HOME=$PWD/../home-of-this; mkdir -p $HOME\n` +
      `${evil(rig.outside.path)}\n${PLANT}\n${CREATE}\ncat "$HOME/stolen"; rm -r "$HOME"`;
    const tried = await runStep(rig, { isolation: "worktree", outside: true }, script);
    match(tried.printed, new RegExp(secret));
    ok([...Deno.readDirSync(rig.outside.path)].some(({ name }) => name === "ran"));
  },
  { skip: LACKS, fileOnly: NO_DATABASE },
);

programTest(
  "a blob of another repository does not come out by its id, whatever the alternates say",
  async () => {
    await using rig = await stepRig();
    const other = `${rig.outside.path}/other`;
    await git(rig.outside.path, "init", "--quiet", "other");
    await Deno.writeTextFile(`${other}/secret`, `secret-${crypto.randomUUID()}\n`);
    await git(other, "add", ".");
    const blob = await git(other, "rev-parse", ":secret");
    const tried = await runStep(
      rig,
      { isolation: "worktree" },
      `git clone --quiet . nested && cd nested
       echo ${other}/.git/objects >>.git/objects/info/alternates
       export GIT_ALTERNATE_OBJECT_DIRECTORIES=${other}/.git/objects
       git update-index --add --cacheinfo 100644,${blob},leak
       tree=$(git write-tree --missing-ok)
       commit=$(git -c user.name=a -c user.email=a@b commit-tree $tree -p HEAD -m x)
       svc github pr create --title Fix --commit $commit`,
    );
    equal(tried.state, "failed");
    match(tried.printed, /error: git cannot read the change: .*(missing|unable to read)/);
    deepEqual(rig.fake.pulls.pulls, []);
  },
  { skip: LACKS, fileOnly: NO_DATABASE },
);

/** What a step makes of its worktree, and why the daemon takes none of it. */
const REFUSED: readonly (readonly [name: string, script: string, why: RegExp])[] = [
  ["a link out of the repository", "ln -s /etc/passwd passwd", /"passwd" .*absolute path/],
  ["a link that climbs out", "mkdir d; ln -s ../../x d/x", /"d\/x" .*leads out/],
  ["names that are one elsewhere", "echo a >Name; echo b >name", /one file where case/],
  ["a line feed in a name", "printf x >'a\nb'", /hidden characters in its name/],
  [
    "a direction mark in a name",
    "printf x >\"$(printf 'a\\342\\200\\256b')\"",
    /hidden characters/,
  ],
  ["a pointer for large files", "echo 'version https://git-lfs.github.com/spec/v1' >x", /Git LFS/],
  ["ten thousand files", "mkdir d; seq 10001 | (cd d && xargs touch)", /10001 files/],
  ["a bomb", "truncate -s 200M zeros", /, and may have /],
];

programTest("what no change may have is refused, and nothing is stored", async () => {
  await using rig = await stepRig();
  for (const [name, script, why] of REFUSED) {
    const tried = await runStep(rig, { isolation: "worktree" }, `${script}\n${CREATE}`);
    equal(tried.state, "failed", `${name}: ${tried.printed}`);
    match(tried.printed, why, name);
  }
  const tree = `
    blob=$(echo x | git hash-object -w --stdin)
    inner=$(printf '100644 blob %s\\tconfig\\n' $blob | git mktree)
    tree=$(printf '040000 tree %s\\t.git\\n' $inner | git mktree)
    commit=$(git -c user.name=a -c user.email=a@b commit-tree $tree -p HEAD -m x)
    svc github pr create --title Fix --commit $commit`;
  const tried = await runStep(rig, { isolation: "worktree" }, tree);
  equal(tried.state, "failed", tried.printed);
  match(tried.printed, /git does not take the objects|belongs to git/);
  const { stdout } = await rig.daemon.svc(["get", "outbox", "-o", "json"]);
  deepEqual(JSON.parse(stdout).items ?? JSON.parse(stdout), []);
  deepEqual(rig.fake.pulls.pulls, []);
}, { skip: LACKS, fileOnly: NO_DATABASE });
