/**
 * Workspaces (`isolation`) with real repositories: a worktree or a copy for each task, gone
 * when it succeeds, kept when it does not, and never half there.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { Clock } from "../../src/base/clock.ts";
import { CancellationScope } from "../../src/tasks/cancellation_scope.ts";
import { removeOrphans } from "../../src/tasks/retention/orphans.ts";
import type { RunHost } from "../../src/tasks/run/task_context.ts";
import { branchOf } from "../../src/tasks/workspace/git_worktree.ts";
import { noteRepository } from "../../src/tasks/workspace/kept_commits.ts";
import { missing, skippable } from "../helpers/requirements.ts";
import { findFile, processRuns, until, untilFile } from "../helpers/until.ts";
import { taskIdOf } from "../helpers/store_records.ts";
import { commitSomething, git } from "../rigs/git_repository.ts";
import { type RunRig, runRig } from "../rigs/run_rig.ts";

const WORKTREE = { workspace: "{path: repo, isolation: worktree}" };
const FETCH = { workspace: "{path: repo, isolation: worktree, fetch: true}" };
const WORKTREE_PLAN = (rig: RunRig) => ({
  path: rig.workspace,
  isolation: "worktree" as const,
  env: {},
});
const COPY = { workspace: "{path: repo, isolation: copy}" };

const branches = (rig: RunRig) => git(rig.workspace, "branch", "--format=%(refname:short)");
const worktrees = async (rig: RunRig) =>
  (await git(rig.workspace, "worktree", "list", "--porcelain")).split("\n")
    .filter((line) => line.startsWith("worktree ")).length;

/** Names in a directory; none where there is no directory. */
function names(path: string): string[] {
  try {
    return [...Deno.readDirSync(path)].map(({ name }) => name).toSorted();
  } catch {
    return [];
  }
}

function test(
  name: string,
  body: (rig: RunRig) => Promise<void>,
  skip = name.startsWith("worktree") ? missing("git") : undefined,
): void {
  Deno.test({
    ...skippable(name, skip),
    async fn() {
      await using rig = await runRig();
      await body(rig);
    },
  });
}

const COMMIT =
  "git -c user.name=A -c user.email=a@b -c commit.gpgsign=false commit --quiet -am work";

test("worktree: steps run on a branch named after the task, and nothing stays of a success", async (rig) => {
  await commitSomething(rig);
  await Deno.writeTextFile(`${rig.workspace}/file`, "not committed\n");
  const { state, reason, task } = await rig.all(
    "{steps: [{id: a, run: 'pwd; git branch --show-current; cat file; echo mine > file; touch new'}]}",
    WORKTREE,
  );
  deepEqual([state, reason], ["succeeded", ""]);
  equal(
    await rig.printed(task.id),
    `${rig.dirs.worktrees}/${task.id}\nsvc/${task.id}\ncommitted\n`,
  );
  equal(await Deno.readTextFile(`${rig.workspace}/file`), "not committed\n");
  deepEqual([names(rig.dirs.worktrees), task.directory], [[], ""]);
  equal(await branches(rig), "main");
  equal(await worktrees(rig), 1);
});

test("worktree: it is kept when the task fails, with its branch, and the task knows where", async (rig) => {
  await commitSomething(rig);
  const { state, task } = await rig.all(
    "{steps: [{id: a, run: echo mine > file; exit 1}]}",
    WORKTREE,
  );
  equal(state, "failed");
  equal(task.directory, `${rig.dirs.worktrees}/${task.id}`);
  equal(await Deno.readTextFile(`${task.directory}/file`), "mine\n");
  equal(await branches(rig), `main\n${branchOf(task.id)}`);
  deepEqual(await rig.host.directories.discard(task), [task.directory]);
  deepEqual(names(rig.dirs.worktrees), []);
  equal(await branches(rig), "main");
  equal(await worktrees(rig), 1);
});

/** The refs under which commits of tasks are kept. */
const kept = (rig: RunRig) => git(rig.workspace, "for-each-ref", "--format=%(refname)", "refs/svc");

/** The same in the words for a user. */
const keptAs = (rig: RunRig, ref: string) =>
  `its commits were kept as ${ref} in "${rig.workspace}/.git"`;

test("worktree: commits of a success that are nowhere else are kept as long as the task, and it says so", async (rig) => {
  await commitSomething(rig);
  const { state, reason, task } = await rig.all(
    `{steps: [{id: a, run: 'echo mine > file; ${COMMIT}'}]}`,
    WORKTREE,
  );
  const ref = `refs/svc/tasks/${task.id}`;
  deepEqual([state, reason], ["succeeded", keptAs(rig, ref)]);
  equal(await rig.host.directories.whereCommitsAre(task.id), reason);
  deepEqual(names(rig.dirs.worktrees), [`${task.id}.kept`]);
  equal(await branches(rig), "main");
  equal(await git(rig.workspace, "show", `${ref}:file`), "mine");

  deepEqual(await rig.host.directories.discard(task), [ref]);
  deepEqual([await kept(rig), names(rig.dirs.worktrees)], ["", []]);
  equal(await rig.host.directories.whereCommitsAre(task.id), "");
  deepEqual(await rig.host.directories.discard(task), []);
});

test("worktree: where it started is noted, and no commit of the task changes that", async (rig) => {
  await commitSomething(rig);
  const start = await git(rig.workspace, "rev-parse", "HEAD");
  const workflow = `{steps: [{id: a, run: 'echo mine > file; ${COMMIT}; [ -f ../go ]'}]}`;
  const claimed = await rig.claim(workflow, WORKTREE);
  const { directories } = rig.host;
  equal((await rig.run(claimed)).state, "failed");
  const { directory } = await rig.task(claimed.task.id);
  equal(directories.startOf(directory), start);
  equal(directories.startOf(`${directory}/below`), start);
  await directories.remove(claimed.task.id, directory);
  // its commits are kept, and a worktree that goes on from them started where the first one did
  equal(directories.startOf(directory), start);
  const user = { taskId: claimed.task.id, workspace: "repo", plan: WORKTREE_PLAN(rig) };
  using scope = new CancellationScope({});
  equal(await directories.make(user, scope), directory);
  equal(await Deno.readTextFile(`${directory}/file`), "mine\n");
  equal(directories.startOf(directory), start);
});

test(
  "where a directory started is not known of a copy, or of the workspace itself",
  async (rig) => {
    await commitSomething(rig);
    const { task } = await rig.all("{steps: [{id: a, run: exit 1}]}", COPY);
    const { directories } = rig.host;
    deepEqual([directories.startOf(task.directory), directories.startOf(rig.workspace)], [
      undefined,
      undefined,
    ]);
  },
  missing("git"),
);

test("worktree: commits that are on another branch need no branch of the task", async (rig) => {
  await commitSomething(rig);
  const { reason } = await rig.all(
    `{steps: [{id: a, run: 'git switch --quiet -c mine; echo mine > file; ${COMMIT}'}]}`,
    WORKTREE,
  );
  equal(reason, "");
  equal(await branches(rig), "main\nmine");
  equal(await git(rig.workspace, "show", "mine:file"), "mine");
});

test("worktree: commits on no branch are kept, beside those on the branch of the task", async (rig) => {
  await commitSomething(rig);
  const { reason, task } = await rig.all(
    `{steps: [{id: a, run: 'echo branch > file; ${COMMIT}; git switch --quiet --detach main; echo head > file; ${COMMIT}'}]}`,
    WORKTREE,
  );
  const ref = `refs/svc/tasks/${task.id}`;
  equal(reason, keptAs(rig, `${ref} and ${ref}-2`));
  equal(await git(rig.workspace, "show", `${ref}:file`), "head");
  equal(await git(rig.workspace, "show", `${ref}-2:file`), "branch");
  equal(await branches(rig), "main");
  deepEqual(await rig.host.directories.discard(task), [ref, `${ref}-2`]);
  equal(await kept(rig), "");
});

/** A bare repository that the workspace was cloned from, with a pull request 7. */
async function cloneWithPullRequest(rig: RunRig): Promise<string> {
  await commitSomething(rig);
  const remote = `${rig.dirs.root}/remote.git`;
  await git(rig.workspace, "switch", "--quiet", "-c", "theirs");
  await Deno.writeTextFile(`${rig.workspace}/file`, "theirs\n");
  await git(rig.workspace, "commit", "--quiet", "-am", "theirs");
  await git(rig.workspace, "switch", "--quiet", "main");
  await git(rig.workspace, "clone", "--quiet", "--bare", ".", remote);
  await git(remote, "update-ref", "refs/pull/7/head", "theirs");
  await git(remote, "branch", "--quiet", "-D", "theirs");
  await Deno.remove(rig.workspace, { recursive: true });
  await git(rig.dirs.root, "clone", "--quiet", remote, rig.workspace);
  return remote;
}

const CHECK_OUT =
  "git fetch --quiet origin refs/pull/7/head; git checkout --quiet --detach FETCH_HEAD; cat file";

test("worktree: a pull request that was only looked at leaves nothing", async (rig) => {
  await cloneWithPullRequest(rig);
  const { state, reason, task } = await rig.all(
    `{steps: [{id: a, run: '${CHECK_OUT}'}]}`,
    WORKTREE,
  );
  deepEqual([state, reason], ["succeeded", ""]);
  equal(await rig.printed(task.id), "theirs\n");
  deepEqual([await branches(rig), await kept(rig), names(rig.dirs.worktrees)], ["main", "", []]);
});

test("worktree: a commit on top of a pull request is kept", async (rig) => {
  await cloneWithPullRequest(rig);
  const { reason, task } = await rig.all(
    `{steps: [{id: a, run: '${CHECK_OUT}; echo mine > file; ${COMMIT}'}]}`,
    WORKTREE,
  );
  equal(reason, keptAs(rig, `refs/svc/tasks/${task.id}`));
  equal(await git(rig.workspace, "show", `refs/svc/tasks/${task.id}:file`), "mine");
});

test("worktree: a pull request on the branch of the task leaves nothing, pushed commits neither", async (rig) => {
  await cloneWithPullRequest(rig);
  const { reason } = await rig.all(
    `{steps: [{id: a, run: 'git fetch --quiet origin refs/pull/7/head; git reset --quiet --hard FETCH_HEAD; echo mine > file; ${COMMIT}; git push --quiet origin HEAD:refs/heads/fix'}]}`,
    WORKTREE,
  );
  equal(reason, "");
  deepEqual([await branches(rig), await kept(rig)], ["main", ""]);
});

test("worktree: the commits of a task are there again after its directory was lost", async (rig) => {
  await commitSomething(rig);
  const claimed = await rig.claim("{steps: [{id: a, run: cat file}]}", WORKTREE);
  const path = `${rig.dirs.worktrees}/${claimed.task.id}`;
  await Deno.mkdir(rig.dirs.worktrees);
  await git(rig.workspace, "worktree", "add", "--quiet", "-b", branchOf(claimed.task.id), path);
  await Deno.writeTextFile(`${path}/file`, "before\n");
  await git(path, "commit", "--quiet", "-am", "before");
  await Deno.remove(path, { recursive: true });
  const { state, reason } = await rig.run(claimed);
  deepEqual([state, reason], ["succeeded", keptAs(rig, `refs/svc/tasks/${claimed.task.id}`)]);
  equal(await rig.printed(claimed.task.id), "before\n");
});

test("worktree: without fetch it starts at what is checked out, with it at what the remote has", async (rig) => {
  const remote = await cloneWithPullRequest(rig);
  await git(remote, "update-ref", "refs/heads/main", "refs/pull/7/head"); // merged meanwhile
  const plain = await rig.all("{steps: [{id: a, run: cat file}]}", WORKTREE);
  equal(await rig.printed(plain.task.id), "committed\n");
  const { state, reason, task } = await rig.all("{steps: [{id: a, run: cat file}]}", FETCH);
  deepEqual([state, reason], ["succeeded", ""]);
  equal(await rig.printed(task.id), "theirs\n");
  equal(await Deno.readTextFile(`${rig.workspace}/file`), "committed\n");
  deepEqual([await branches(rig), await kept(rig)], ["main", ""]);
});

test("worktree: fetch into bare repositories, with and without a place for the remote's branches", async (rig) => {
  const remote = await cloneWithPullRequest(rig);
  await git(rig.dirs.root, "clone", "--quiet", "--bare", remote, "bare.git");
  await git(rig.dirs.root, "clone", "--quiet", "--mirror", remote, "mirror.git");
  await git(remote, "update-ref", "refs/heads/main", "refs/pull/7/head");
  for (const path of ["bare.git", "mirror.git"]) {
    const workspace = `{path: ${path}, isolation: worktree, fetch: true}`;
    const { state, reason, task } = await rig.all("{steps: [{id: a, run: cat file}]}", {
      workspace,
    });
    deepEqual([state, reason], ["succeeded", ""], path);
    equal(await rig.printed(task.id), "theirs\n", path);
  }
});

/** What makes a fetch fail, and what the task says. */
const UNFETCHABLE: readonly [what: string, make: string[][], reason: RegExp][] = [
  [
    "from a remote that is gone",
    [["remote", "set-url", "origin", "/nowhere/repo.git"]],
    /git cannot fetch in "[^"]*\/repo": '\/nowhere\/repo.git' does not appear to be a git repository\. Try "git fetch" there as the user of the daemon; variables such as SSH_AUTH_SOCK/,
  ],
  [
    "of a branch that follows none",
    [["switch", "--quiet", "-c", "mine"]],
    /branch "mine" follows no branch of a remote: run "git branch --set-upstream-to=origin\/mine mine" there$/,
  ],
  [
    "of no branch",
    [["switch", "--quiet", "--detach"]],
    /no branch is checked out there: check one out that follows/,
  ],
  [
    "of a branch that is gone at the remote",
    [
      ["switch", "--quiet", "-c", "mine"],
      ["push", "--quiet", "-u", "origin", "mine"],
      ["push", "--quiet", `--receive-pack=git receive-pack`, "origin", ":mine"],
      ["config", "branch.mine.merge", "refs/heads/mine"],
    ],
    /the branch that "mine" follows is no longer at "origin"$|couldn't find remote ref/,
  ],
  [
    "over ssh that would ask",
    [
      ["remote", "set-url", "origin", "ssh://nobody:secret@host.invalid/repo.git"],
      ["config", "core.sshCommand", "sh -c 'echo git@host: Permission denied >&2; exit 255' --"],
    ],
    /git cannot fetch in "[^"]*": git@host: Permission denied\. Try/,
  ],
];

for (const [what, make, expected] of UNFETCHABLE) {
  test(`worktree: a fetch ${what} fails the task before a step runs, and says why`, async (rig) => {
    await cloneWithPullRequest(rig);
    for (const args of make) await git(rig.workspace, ...args);
    const { state, reason, task } = await rig.all("{steps: [{id: a, run: touch ran}]}", FETCH);
    equal(state, "failed");
    match(reason, expected);
    deepEqual(task.steps.map((step) => step.state), ["pending"]);
    deepEqual([names(rig.dirs.worktrees), await kept(rig)], [[], ""]);
  });
}

test("worktree: eight at once in one repository, each by itself", async (rig) => {
  await commitSomething(rig);
  const claimed = [];
  for (let n = 0; n < 8; n++) {
    claimed.push(
      await rig.claim(
        "{steps: [{id: a, run: 'echo $SVC_TASK_ID > file; sleep 0.2; cat file'}]}",
        WORKTREE,
      ),
    );
  }
  const results = await Promise.all(claimed.map((one) => rig.run(one)));
  deepEqual(
    results.map(({ state, reason }) => `${state}${reason}`),
    claimed.map(() => "succeeded"),
  );
  for (const { task } of claimed) equal(await rig.printed(task.id), `${task.id}\n`);
  equal(await branches(rig), "main");
  equal(await worktrees(rig), 1);
});

test("worktree: a workspace below the top of its repository", async (rig) => {
  await commitSomething(rig);
  const given = { workspace: "{path: repo/sub, isolation: worktree}" };
  const { state, task } = await rig.all(
    "{steps: [{id: a, run: pwd; cat inner ../file; exit 1}]}",
    given,
  );
  equal(state, "failed");
  const directory = `${rig.dirs.worktrees}/${task.id}/sub`;
  equal(await rig.printed(task.id), `${directory}\ninner\ncommitted\n`);
  equal(task.directory, directory);
  await rig.host.directories.discard({ id: task.id, directory });
  deepEqual(names(rig.dirs.worktrees), []);
});

test("worktree: of a bare repository", async (rig) => {
  await commitSomething(rig);
  await git(rig.workspace, "clone", "--quiet", "--bare", ".", `${rig.dirs.root}/bare.git`);
  const { state, task } = await rig.all("{steps: [{id: a, run: cat file}]}", {
    workspace: "{path: bare.git, isolation: worktree}",
  });
  equal(state, "succeeded");
  equal(await rig.printed(task.id), "committed\n");
  deepEqual(names(rig.dirs.worktrees), []);
});

test("worktree: a path with blanks, quotes and what a shell would run", async (rig) => {
  await commitSomething(rig);
  const odd = "re po'$(touch PWN)`touch PWN`;-x";
  await Deno.rename(rig.workspace, `${rig.dirs.root}/${odd}`);
  const workspace = JSON.stringify({ path: odd, isolation: "worktree" });
  const { state, reason } = await rig.all("{steps: [{id: a, run: cat file}]}", { workspace });
  deepEqual([state, reason], ["succeeded", ""]);
  deepEqual(names(rig.dirs.root).filter((name) => name === "PWN"), []);
});

test("worktree: a part that a crash left before a step ran is made anew", async (rig) => {
  await commitSomething(rig);
  const claimed = await rig.claim("{steps: [{id: a, run: cat file}]}", WORKTREE);
  const path = `${rig.dirs.worktrees}/${claimed.task.id}`;
  await Deno.mkdir(rig.dirs.worktrees);
  await git(rig.workspace, "worktree", "add", "--quiet", "-b", branchOf(claimed.task.id), path);
  await Deno.remove(`${path}/file`);
  equal((await rig.run(claimed)).state, "succeeded");
  equal(await rig.printed(claimed.task.id), "committed\n");
  equal(await branches(rig), "main");
});

test("worktree: half a directory, its registration lost or its repository moved, goes all the same", async (rig) => {
  await commitSomething(rig);
  const { task } = await rig.all(
    "{steps: [{id: a, run: mkdir d; touch d/x; chmod 500 d; exit 1}]}",
    WORKTREE,
  );
  await Deno.rename(rig.workspace, `${rig.workspace}-moved`);
  deepEqual(await rig.host.directories.discard(task), [task.directory]);
  deepEqual(names(rig.dirs.worktrees), []);
  await Deno.mkdir(`${rig.dirs.worktrees}/LEFT/x`, { recursive: true });
  const left = { id: "LEFT", directory: `${rig.dirs.worktrees}/LEFT` };
  await rig.host.directories.discard(left);
  await rig.host.directories.discard(left);
});

test("worktree: after a stop the steps go on where they were", async (rig) => {
  await commitSomething(rig);
  const go = `${rig.dirs.root}/go`;
  const claimed = await rig.claim(
    `{steps: [{id: a, run: echo mine > file}, {id: b, run: '[ -e ${go} ] && exec cat file; echo > ${rig.workspace}/begun; exec sleep 60'}]}`,
    WORKTREE,
  );
  const { id } = claimed.task;
  const stop = new AbortController();
  untilFile(`${rig.workspace}/begun`).then(() => stop.abort());
  equal((await rig.run(claimed, { stop: stop.signal })).state, "interrupted");
  await Deno.writeTextFile(go, "");
  await rig.store.requeueTask(id, { now: 5 });
  equal((await rig.run(await rig.reclaim(id))).state, "succeeded");
  equal(await rig.printed(id), "mine\n");
  deepEqual(names(rig.dirs.worktrees), []);
});

test("worktree: a retry goes on in the directory it takes over, and removes it in the end", async (rig) => {
  await commitSomething(rig);
  const { task } = await rig.all(
    "{steps: [{id: a, run: echo mine > file}, {id: b, run: '[ -e ok ] && exec cat file; exit 1'}]}",
    WORKTREE,
  );
  await rig.store.finishTask({ taskId: task.id, state: "failed", reason: "x", now: Date.now() });
  await Deno.writeTextFile(`${task.directory}/ok`, "");
  const again = await rig.store.retryTask({
    by: { called: "ada" },
    id: taskIdOf(99),
    of: task.id,
    keepDirectory: true,
    staysOnNode: true,
    now: Date.now(),
    kept: task.steps.slice(0, 1),
  });
  equal(again.directory, task.directory);
  const result = await rig.run(await rig.reclaim(again.id));
  equal(result.state, "succeeded");
  equal(await rig.printed(again.id), "mine\n");
  deepEqual(names(rig.dirs.worktrees), []);
  equal(await branches(rig), "main");
  equal((await rig.task(again.id)).directory, "");
});

test("worktree: a task whose directory is gone with the work of its steps says so", async (rig) => {
  await commitSomething(rig);
  const claimed = await rig.claim(
    `{steps: [{id: a, run: "true"}, {id: b, run: 'echo > ${rig.workspace}/begun; exec sleep 60'}]}`,
    WORKTREE,
  );
  const stop = new AbortController();
  untilFile(`${rig.workspace}/begun`).then(() => stop.abort());
  await rig.run(claimed, { stop: stop.signal });
  const { id, directory } = await rig.task(claimed.task.id);
  await Deno.remove(directory, { recursive: true });
  await rig.store.requeueTask(id, { now: 5 });
  const { state, reason } = await rig.run(await rig.reclaim(id));
  equal(state, "failed");
  match(reason, /in which finished steps ran, is gone: retry the task$/);
});

test("worktree: a cancel while it is made leaves nothing that the next try minds", async (rig) => {
  await commitSomething(rig);
  const claimed = await rig.claim('{steps: [{id: a, run: "true"}]}', WORKTREE);
  const stopped = await rig.run(claimed, { stop: AbortSignal.abort() });
  equal(stopped.state, "interrupted");
  await rig.store.requeueTask(claimed.task.id, { now: 5 });
  equal((await rig.run(await rig.reclaim(claimed.task.id))).state, "succeeded");
  equal(await branches(rig), "main");
});

test("worktree: a cancel before it is made leaves nothing of it", async (rig) => {
  await commitSomething(rig);
  const claimed = await rig.claim("{steps: [{id: a, run: touch ran}]}", WORKTREE);
  equal((await rig.run(claimed, { cancel: AbortSignal.abort() })).state, "cancelled");
  deepEqual(names(rig.dirs.worktrees), []);
  equal(await branches(rig), "main");
});

test("worktree: the note that a crash left goes when the task is cancelled then", async (rig) => {
  await commitSomething(rig);
  const claimed = await rig.claim("{steps: [{id: a, run: touch ran}]}", WORKTREE);
  await Deno.mkdir(rig.dirs.worktrees);
  const repository = `${rig.workspace}/.git`;
  await noteRepository(rig.dirs.worktrees, claimed.task.id, { repository, refs: [] });
  equal((await rig.run(claimed, { cancel: AbortSignal.abort() })).state, "cancelled");
  deepEqual(names(rig.dirs.worktrees), []);
});

test("worktree: what crashes left of tasks that have ended goes at the next start", async (rig) => {
  await commitSomething(rig);
  const ids: string[] = [];
  for (const _ of [1, 2]) {
    const { task: { id } } = await rig.claim("{steps: [{id: a, run: 'true'}]}", WORKTREE);
    await rig.store.finishTask({ taskId: id, state: "failed", reason: "interrupted", now: 1 });
    ids.push(id);
  }
  const { worktrees: parent } = rig.dirs;
  await Deno.mkdir(parent);
  const repository = `${rig.workspace}/.git`;
  for (const id of ids) await noteRepository(parent, id, { repository, refs: [] });
  const [made = ""] = ids;
  await git(rig.workspace, "worktree", "add", "--quiet", "-b", branchOf(made), `${parent}/${made}`);
  const { store, catalog, dirs, host } = rig;
  const keep = { tasksMs: 0, bodiesMs: 0, perTrigger: 0 };
  await removeOrphans({ ...host, store, catalog, dirs, keep }, new AbortController().signal);
  deepEqual([await branches(rig), await worktrees(rig), names(parent)], ["main", 1, []]);
});

/** Makes every checkout of the repository wait for ever, in a process that minds no TERM. */
async function makeStuck(rig: RunRig, line: string): Promise<void> {
  await Deno.writeTextFile(`${rig.workspace}/.gitattributes`, "* filter=stuck\n");
  await git(rig.workspace, "add", ".");
  await git(rig.workspace, "commit", "--quiet", "-m", "filter");
  const script = `${rig.dirs.root}/stuck.sh`;
  await Deno.writeTextFile(script, `trap '' TERM; echo $$ >> ${rig.dirs.root}/pids; ${line}\n`);
  await git(rig.workspace, "config", "filter.stuck.smudge", `sh ${script}`);
}

/** A line of a shell that does not end. */
const endless = ({ dirs: { root } }: RunRig) =>
  `mkfifo ${root}/fifo$$; exec 3<>${root}/fifo$$; read _ <&3`;
const MADE = "the timeout of 1 s ran out while its worktree was created";

async function nobodyOf(rig: RunRig): Promise<void> {
  const pids = (await untilFile(`${rig.dirs.root}/pids`)).trim().split("\n").map(Number);
  deepEqual(await Promise.all(pids.map(processRuns)), pids.map(() => false));
}

test("worktree: the timeout of the task holds while it is made, and nothing is left of it", async (rig) => {
  await commitSomething(rig);
  const away = `setsid sh -c 'echo $$ >> ${rig.dirs.root}/pids; exec sleep 600' >/dev/null 2>&1 & `;
  await makeStuck(rig, `${away}${endless(rig)}`);
  // On a busy machine git may not get as far as the filter within that second.
  for (let tries = 0; await findFile(`${rig.dirs.root}/pids`) === undefined; tries++) {
    ok(tries < 20, "git never came to the filter");
    const { state, reason, task } = await rig.all(
      "{timeout: 1, steps: [{id: a, run: touch ran}]}",
      WORKTREE,
    );
    deepEqual([state, reason], ["failed", MADE]);
    deepEqual([names(rig.dirs.worktrees), task.directory], [[], ""]);
    deepEqual([await branches(rig), await worktrees(rig)], ["main", 1]);
  }
  await nobodyOf(rig);
});

/** The host of a run for which the time for a removal is soon over. */
function hasty({ host }: RunRig): RunHost {
  const { clock } = host;
  const after: Clock["after"] = (ms, then) => clock.after(ms === 10_000 ? 100 : ms, then);
  return { ...host, clock: { ...clock, after } };
}

test("worktree: a cancel does not cut its removal off, which is over soon", async (rig) => {
  await commitSomething(rig);
  const go = "until test -e go; do sleep 0.02; done";
  const early = await rig.claim(`{steps: [{id: a, run: 'touch up; ${go}'}]}`, WORKTREE);
  const directory = `${rig.dirs.worktrees}/${early.task.id}`;
  const tidied = new AbortController();
  const removal = rig.run(early, { cancel: tidied.signal });
  await until("the step", () => names(directory).includes("up") || undefined);

  // Another task makes its worktree, and the removal waits for its turn.
  const free = `${rig.dirs.root}/free`;
  await makeStuck(rig, `until test -e ${free}; do sleep 0.02; done; cat`);
  const other = rig.run(await rig.claim("{steps: [{id: a, run: 'true'}]}", WORKTREE));
  await untilFile(`${rig.dirs.root}/pids`);
  await Deno.writeTextFile(`${directory}/go`, "");
  await until(
    "the end of the step",
    async () => (await rig.task(early.task.id)).steps[0]?.finishedAt,
  );
  tidied.abort();
  await Deno.writeTextFile(free, "");
  deepEqual(await removal, { state: "succeeded", reason: "" });
  equal((await other).state, "succeeded");
  deepEqual([await branches(rig), names(rig.dirs.worktrees)], ["main", []]);
});

test("worktree: a task that ends does not wait for the turn of another task", async (rig) => {
  await commitSomething(rig);
  const none = "{steps: [{id: a, run: 'true'}]}";
  const early = await rig.claim(
    "{steps: [{id: a, run: 'touch up; until test -e go; do sleep 0.05; done'}]}",
    WORKTREE,
  );
  const tidied = new AbortController();
  const cancellation = rig.run(early, { cancel: tidied.signal }, hasty(rig));
  await untilFile(`${rig.dirs.worktrees}/${early.task.id}/file`);
  await until(
    "the step",
    () => names(`${rig.dirs.worktrees}/${early.task.id}`).includes("up") || undefined,
  );

  await makeStuck(rig, endless(rig));
  const claimed = await rig.claim(none, WORKTREE);
  const freed = new AbortController();
  const stuck = rig.run(claimed, { cancel: freed.signal });
  await untilFile(`${rig.dirs.root}/pids`);

  const late = await rig.claim("{timeout: 1, steps: [{id: a, run: 'true'}]}", WORKTREE);
  deepEqual(await rig.run(late), { state: "failed", reason: MADE });

  const third = await rig.claim(none, WORKTREE);
  const cancel = new AbortController();
  const waiting = rig.run(third, { cancel: cancel.signal });
  cancel.abort();
  deepEqual(await waiting, { state: "cancelled", reason: "" });

  await Deno.writeTextFile(`${rig.dirs.worktrees}/${early.task.id}/go`, "");
  await until(
    "the end of the step",
    async () => (await rig.task(early.task.id)).steps[0]?.finishedAt,
  );
  tidied.abort();
  deepEqual(await cancellation, {
    state: "succeeded",
    reason: "its worktree was not removed in time",
  });

  freed.abort();
  equal((await stuck).state, "cancelled");
  await nobodyOf(rig);
  equal(await branches(rig), `main\nsvc/${early.task.id}`);
  const directory = `${rig.dirs.worktrees}/${early.task.id}`;
  await rig.host.directories.discard({ id: early.task.id, directory });
  deepEqual([await branches(rig), names(rig.dirs.worktrees)], ["main", []]);
});

test("worktree: no hook and no file monitor of the repository runs", async (rig) => {
  await commitSomething(rig);
  const line = `#!/bin/sh\necho "$0" >> ${rig.dirs.root}/hooked\n`;
  const hooks = ["post-checkout", "reference-transaction", "post-index-change", "monitor"];
  for (const hook of hooks) {
    await Deno.writeTextFile(`${rig.workspace}/.git/hooks/${hook}`, line, { mode: 0o755 });
  }
  await git(rig.workspace, "config", "core.fsmonitor", `${rig.workspace}/.git/hooks/monitor`);
  await Deno.remove(`${rig.dirs.root}/hooked`).catch(() => {});
  equal((await rig.all("{steps: [{id: a, run: 'true'}]}", WORKTREE)).state, "succeeded");
  equal(await findFile(`${rig.dirs.root}/hooked`), undefined);
});

test("copy: the timeout of the task holds while it is made, and nothing is left of it", async (rig) => {
  // A program in the place of cp: a tree that takes that long would be a large one.
  await Deno.writeTextFile(
    `${rig.dirs.bin}/cp`,
    `#!/bin/sh\nmkdir -p "$3" && : > "$3/half"; ${endless(rig)}\n`,
    { mode: 0o755 },
  );
  const { state, reason, task } = await rig.all(
    "{timeout: 1, steps: [{id: a, run: touch ran}]}",
    COPY,
  );
  deepEqual([state, reason], ["failed", "the timeout of 1 s ran out while its copy was created"]);
  deepEqual([names(rig.dirs.copies), task.directory], [[], ""]);
});

test("copy: steps run in a copy, links, modes and what is not committed included", async (rig) => {
  await Deno.writeTextFile(`${rig.workspace}/tool`, "#!/bin/sh\necho tool\n", { mode: 0o755 });
  await Deno.symlink("tool", `${rig.workspace}/link`);
  await Deno.symlink("/nowhere", `${rig.workspace}/dangling`);
  await Deno.mkdir(`${rig.workspace}/.hidden`);
  const { state, reason, task } = await rig.all(
    "{steps: [{id: a, run: 'pwd; ./link; readlink link dangling; ls -A; echo x >> tool'}]}",
    COPY,
  );
  deepEqual([state, reason], ["succeeded", ""]);
  equal(
    await rig.printed(task.id),
    `${rig.dirs.copies}/${task.id}\ntool\ntool\n/nowhere\n.hidden\ndangling\nlink\ntool\n`,
  );
  equal(await Deno.readTextFile(`${rig.workspace}/tool`), "#!/bin/sh\necho tool\n");
  deepEqual([names(rig.dirs.copies), task.directory], [[], ""]);
});

test("copy: it is kept when the task fails, and removed even with files that are not writable", async (rig) => {
  await Deno.writeTextFile(`${rig.workspace}/file`, "mine\n");
  const { state, task } = await rig.all(
    "{steps: [{id: a, run: mkdir -p d/e; touch d/e/f; chmod -R a-w d; exit 1}]}",
    COPY,
  );
  equal(state, "failed");
  deepEqual(names(task.directory), ["d", "file"]);
  deepEqual(await rig.host.directories.discard(task), [task.directory]);
  deepEqual(names(rig.dirs.copies), []);
});

test("copy: a part that a crash left is made anew", async (rig) => {
  await Deno.writeTextFile(`${rig.workspace}/file`, "whole\n");
  const claimed = await rig.claim("{steps: [{id: a, run: cat file}]}", COPY);
  for (const half of ["", ".part"]) {
    await Deno.mkdir(`${rig.dirs.copies}/${claimed.task.id}${half}`, { recursive: true });
    await Deno.writeTextFile(`${rig.dirs.copies}/${claimed.task.id}${half}/file`, "ha");
  }
  equal((await rig.run(claimed)).state, "succeeded");
  equal(await rig.printed(claimed.task.id), "whole\n");
  deepEqual(names(rig.dirs.copies), []);
});

/** What is wrong with a workspace, and what the task says about it. */
const REFUSED: readonly [
  what: string,
  spec: string,
  make: (rig: RunRig) => Promise<void>,
  reason: RegExp,
][] = [
  [
    "that does not exist",
    "{path: gone}",
    async () => {},
    /"[^"]*\/gone" does not exist: make it, or/,
  ],
  [
    "that does not exist, as a worktree",
    "{path: gone, isolation: worktree}",
    async () => {},
    /does not exist: make it/,
  ],
  [
    "that does not exist, as a copy",
    "{path: gone, isolation: copy}",
    async () => {},
    /does not exist: make it/,
  ],
  [
    "that is a file",
    "{path: file}",
    (rig) => Deno.writeTextFile(`${rig.dirs.root}/file`, ""),
    /"[^"]*\/file" is not a directory: change/,
  ],
  [
    "that is no git repository",
    "{path: repo, isolation: worktree}",
    async () => {},
    /is not a git repository: run "git init" there, or set "isolation: copy"/,
  ],
  [
    "without a commit",
    "{path: repo, isolation: worktree}",
    async (rig) => void await git(rig.workspace, "init", "--quiet"),
    /has no commit yet: make one/,
  ],
  [
    "that no commit holds",
    "{path: repo/new, isolation: worktree}",
    async (rig) => {
      await commitSomething(rig);
      await Deno.mkdir(`${rig.workspace}/new`);
    },
    /"new\/" is not in the commit that is checked out there: commit something in it/,
  ],
  [
    "that its copy would be in",
    "{path: ., isolation: copy}",
    async () => {},
    /contains the data directory.*: move one/,
  ],
];

for (const [what, workspace, make, expected] of REFUSED) {
  test(
    `a workspace ${what} fails the task before a step runs, and says what to do`,
    async (rig) => {
      await make(rig);
      const { state, reason, task } = await rig.all("{steps: [{id: a, run: touch ran}]}", {
        workspace,
      });
      equal(state, "failed");
      match(reason, /^Workspace "repo" cannot be used: /);
      match(reason, expected);
      deepEqual(task.steps.map((step) => step.state), ["pending"]);
      deepEqual([names(rig.dirs.worktrees), names(rig.dirs.copies)], [[], []]);
    },
    workspace.includes("worktree") ? missing("git") : undefined,
  );
}

test("TaskDirectories touches nothing that is no directory of a task", async (rig) => {
  const { directories } = rig.host;
  const id = taskIdOf(1);
  for (const path of [rig.workspace, rig.dirs.worktrees, `${rig.dirs.copies}/../repo`, "/"]) {
    await rejects(directories.remove(id, path), /is not a directory of a task/);
    await rejects(directories.discard({ id, directory: path }), /is not a directory of a task/);
  }
  ok((await Deno.stat(rig.workspace)).isDirectory);
});
