/**
 * `svc github pr create`, `pr update` and `push` as a step uses them: what they print, what they refuse
 * before any work, and what they leave alone.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { NO_DATABASE, programTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { messageOf, REPOSITORY } from "../rigs/change_rig.ts";
import { git } from "../rigs/git_repository.ts";
import { runStep, type StepGiven, stepRig } from "../rigs/step_rig.ts";

const HOW = { skip: missing("git"), fileOnly: NO_DATABASE };
const WORKTREE: StepGiven = { isolation: "worktree", outside: true };
const COMMIT = "git -c user.name=A -c user.email=a@b -c commit.gpgsign=false commit --quiet";

programTest(
  "a step opens a pull request, renews its text, and waits until it is sent",
  async () => {
    await using rig = await stepRig();
    const { printed, state, task } = await runStep(
      rig,
      WORKTREE,
      `echo one >a; echo two >b; git add b; echo three >c
     svc github pr create --all --title "Fix the build" --body "It **works**" --wait
     svc github pr update --title "Fix it all" --wait -o json
     svc github pr create --all --title "Fix it all"
     git diff --cached --name-only`,
    );
    equal(state, "succeeded", printed);
    const [first, ...rest] = printed.trim().split("\n");
    const number = rig.fake.pulls.pulls[0]?.number;
    const url = `https://github.com/${REPOSITORY}/pull/${number}`;
    equal(first, `sent as ${url}`);
    const { outbox_id: id, ...json } = JSON.parse(rest.slice(0, -2).join("\n"));
    deepEqual(json, {
      task_id: task,
      repository: REPOSITORY,
      state: "sent",
      held_for: null,
      number,
      url,
    });
    equal((await messageOf(rig.daemon, id)).state, "sent");
    match(
      rest.at(-2) ?? "",
      /^queued as outbox\/\w+: svc\/fix-1 → main, no file has changed since it was sent last$/,
    );
    equal(rest.at(-1), "b", "the index is as it was");
    const [pull] = rig.fake.pulls.pulls;
    equal(pull?.issue.title, "Fix it all");
    const files = await rig.fake.git.run(REPOSITORY, "ls-tree", "--name-only", "svc/fix-1");
    deepEqual(files.split("\n"), ["README.md", "a", "b", "c"]);
  },
  HOW,
);

programTest(
  "what is queued or held says what it is, and --wait ends for what is held",
  async () => {
    await using rig = await stepRig();
    const { printed, state } = await runStep(
      rig,
      { ...WORKTREE, may: { pull: { max: 2 } } },
      `printf '1\\n2\\n' >a; echo >README.md; ${COMMIT} -am one; git add a; ${COMMIT} -m two
     svc github pr create --title One
     echo '{}' >package.json
     svc github pr create --all --title Two --key other --wait`,
    );
    equal(state, "succeeded", printed);
    const [one, two] = printed.trim().split("\n");
    match(one ?? "", /^queued as outbox\/\w+: svc\/fix-1 → main, 2 files, \+3 −1$/);
    match(
      two ?? "",
      /^queued as outbox\/(\w+): held, because .*package\.json.*; svc outbox send \1$/,
    );
  },
  HOW,
);

programTest("a step hands one more commit to the pull request of its event", async () => {
  await using rig = await stepRig();
  const { fake } = rig;
  const first = await runStep(
    rig,
    WORKTREE,
    "echo one >a\nsvc github pr create --all --title One --wait",
  );
  equal(first.state, "succeeded", first.printed);
  const number = fake.pulls.pulls[0]?.number ?? 0;
  const head = await fake.git.find(REPOSITORY, "refs/heads/svc/fix-1");
  await git(rig.clone.path, "fetch", "--quiet", "origin");
  const { printed, state } = await runStep(
    rig,
    { ...WORKTREE, may: { push: { max: 1 } }, number, isPull: true },
    `git checkout --quiet --detach origin/svc/fix-1
     echo two >>a
     svc github push --all --message "Add a line" --onto origin/svc/fix-1
     svc github push --all --onto origin/svc/fix-1 || echo refused`,
  );
  equal(state, "succeeded", printed);
  const [queued, over, refused] = printed.trim().split("\n");
  const [, id = ""] = /^queued as outbox\/(\w+): svc\/fix-1, 1 file, \+1 −0$/.exec(queued ?? "") ??
    [];
  equal((await messageOf(rig.daemon, id)).state, "sent", printed);
  match(over ?? "", /^error: may\.github\.push of Workflow "fix" allows 1 in a task/);
  equal(refused, "refused");
  equal(await fake.git.run(REPOSITORY, "rev-parse", "svc/fix-1^"), head);
  match(await fake.git.run(REPOSITORY, "log", "-1", "--format=%s", "svc/fix-1"), /^Add a line$/);
}, HOW);

programTest("a second push of a step begins at the first, which nobody has fetched", async () => {
  await using rig = await stepRig();
  const { fake } = rig;
  const first = await runStep(
    rig,
    WORKTREE,
    "echo one >a\nsvc github pr create --all --title One --wait",
  );
  equal(first.state, "succeeded", first.printed);
  const number = fake.pulls.pulls[0]?.number ?? 0;
  await git(rig.clone.path, "fetch", "--quiet", "origin");
  const { printed, state } = await runStep(
    rig,
    { ...WORKTREE, may: { push: { max: 2 } }, number, isPull: true },
    `git checkout --quiet --detach origin/svc/fix-1
     before=$(git rev-parse HEAD; git for-each-ref)
     echo two >>a
     pushed=$(svc github push --all --message Two --onto HEAD --wait -o json)
     sha=$(printf '%s' "$pushed" | svc tool payload-extract --path sha)
     echo three >>a
     svc github push --all --message Three --onto "$sha" --wait
     test "$before" = "$(git rev-parse HEAD; git for-each-ref)" && git log -1 --format=%s "$sha"`,
  );
  equal(state, "succeeded", printed);
  match(printed, /\nTwo\n$/, "no branch has moved, and the commit is there");
  const log = await fake.git.run(REPOSITORY, "log", "-3", "--format=%s", "svc/fix-1");
  deepEqual(log.split("\n"), ["Three", "Two", "One"]);
  equal(await fake.git.run(REPOSITORY, "show", "svc/fix-1:a"), "one\ntwo\nthree");
}, HOW);

const TRIED: readonly (readonly [name: string, given: StepGiven, script: string, says: RegExp])[] =
  [
    [
      "an output that the workflow does not have",
      { ...WORKTREE, may: { comment: {} } },
      "svc github pr create --all --title x",
      /error: may\.github\.pull is not in Workflow "fix" of this task/,
    ],
    [
      "a second key where one is allowed",
      WORKTREE,
      "echo x >a; svc github pr create --all --title x; svc github pr create --all --title x --key two",
      /error: may\.github\.pull of Workflow "fix" allows 1 in a task, and this one has used fix: renew one with --key fix/,
    ],
    [
      "a change of nothing",
      WORKTREE,
      "svc github pr create --all --title x",
      /error: Nothing has changed/,
    ],
    [
      "files that are not committed, without --all",
      WORKTREE,
      "echo x >a; echo x >b; svc github pr create --title x",
      /error: Nothing is committed .* --all, which takes 2 files/,
    ],
    [
      "a directory in no repository",
      WORKTREE,
      "cd /; svc github pr create --all --title x",
      /error: "\/" is in no git repository/,
    ],
    [
      "all files of a directory that is shared",
      { ...WORKTREE, isolation: "shared" },
      "echo x >a; svc github pr create --all --title x --onto HEAD",
      /error: --all takes every file, and Workspace "default" is shared/,
    ],
    [
      "a copy of which svc does not know where it began",
      { ...WORKTREE, isolation: "copy" },
      "echo x >a; svc github pr create --all --title x",
      /error: svc does not know the commit .* --onto/,
    ],
    ["no title", WORKTREE, "svc github pr create --all", /error: Give the title/],
    ["nothing to update", WORKTREE, "svc github pr update", /error: Give a title or a text/],
    [
      "two kinds of change",
      WORKTREE,
      "svc github pr create --all --commit HEAD --title x",
      /error: --all and --commit exclude each other/,
    ],
  ];

programTest("what cannot be handed over is refused with what to do", async () => {
  await using rig = await stepRig();
  for (const [name, given, script, says] of TRIED) {
    const { state, printed } = await runStep(rig, given, script);
    equal(state, "failed", `${name}: ${printed}`);
    match(printed, says, name);
  }
}, HOW);
