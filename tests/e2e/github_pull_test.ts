/**
 * From a change that a task hands over to a pull request: one branch, one commit of svc's own, one pull
 * request, renewed and never doubled, and nothing of anybody else overwritten.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  doesNotMatch,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { FakeGitHubWithGit } from "../fakes/github_git.ts";
import { problem, TOKEN } from "../fakes/github.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import {
  ADA,
  ask,
  changeableGitHub,
  changeTest,
  type Clone,
  cloneOf,
  createPull,
  type Declared,
  manifestsOf,
  messageOf,
  pushChange,
  REPOSITORY,
  sendEvent,
} from "../rigs/change_rig.ts";
import { git } from "../rigs/git_repository.ts";

interface Rig extends AsyncDisposable {
  readonly fake: FakeGitHubWithGit;
  readonly daemon: TestDaemon;
  readonly clone: Clone;
}

async function changeRig(declared: Declared = {}): Promise<Rig> {
  await using opening = new AsyncDisposableStack();
  const fake = opening.use(await changeableGitHub());
  const clone = opening.use(await cloneOf(fake));
  const daemon = opening.use(await startDaemon(ONE_PROGRAM));
  await daemon.apply(...manifestsOf(fake.url, declared));
  const open = opening.move();
  return { fake, daemon, clone, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

const heads = async ({ git }: FakeGitHubWithGit) =>
  [...(await git.refs(REPOSITORY)).keys()].map((ref) => ref.replace("refs/heads/", "")).toSorted();

changeTest(
  "a change becomes one commit of svc's own, a branch and a draft pull request",
  async () => {
    await using rig = await changeRig({
      may: {
        pull: { title: "[svc] ", labels: ["automated"], allowLabels: ["bug"], reviewers: ["ada"] },
      },
      webhook: { from: { permission: "write" } },
    });
    const { fake, daemon, clone } = rig;
    const task = await ask(daemon);
    const change = await clone.change({ "src/a.ts": "export {};\n", "README.md": "# New\n" });
    const queued = await createPull(daemon, change, {
      task,
      title: "Fix the build",
      body: "It was @mona's. Fixes #99",
      labels: ["bug"],
    });
    deepEqual(
      { ...queued, outbox_id: "", sha: "" },
      {
        task_id: task,
        repository: REPOSITORY,
        outbox_id: "",
        state: "pending",
        held_for: null,
        branch: "svc/fix-1",
        base: "main",
        sha: "",
        files: 2,
        added: 2,
        removed: 1,
      },
    );
    const message = await messageOf(daemon, queued.outbox_id);
    equal(message.state, "sent", message.reason);
    const [pull] = fake.pulls.pulls;
    equal(
      message.external_id,
      `${pull?.number} ${queued.sha} https://github.com/${REPOSITORY}/pull/${pull?.number}`,
    );
    equal(await fake.git.find(REPOSITORY, "refs/heads/svc/fix-1"), queued.sha);
    equal(await fake.git.run(REPOSITORY, "rev-parse", `${queued.sha}^`), change.start);
    equal(await fake.git.run(REPOSITORY, "rev-parse", `${queued.sha}^{tree}`), change.tree);
    const commit = await fake.git.run(REPOSITORY, "cat-file", "commit", queued.sha);
    match(commit, /^author svc-bot <4242\+svc-bot@users\.noreply\.127\.0\.0\.1> \d+ \+0000$/m);
    match(commit, /\n\n\[svc\] Fix the build\n\nSvc-Task: /);
    match(commit, /^Co-authored-by: ada <7\+ada@users\.noreply\.127\.0\.0\.1>$/m);
    ok(pull !== undefined);
    const { issue, draft, reviewers, base } = pull;
    deepEqual([issue.title, draft, base], ["[svc] Fix the build", true, "main"]);
    deepEqual([issue.labels, reviewers], [["automated", "bug"], ["ada"]]);
    doesNotMatch(issue.body, /@mona|Fixes #99/);
    match(
      issue.body,
      /\n\nFixes #1\n\n---\nMade by svc: workflow fix, task \w+, asked for by ada\n\n/,
    );
    match(issue.body, /<!-- svc pull [^\n]* -->$/);
  },
);

changeTest(
  "a second task on the issue renews the pull request; the same content is not pushed again",
  async () => {
    await using rig = await changeRig();
    const { fake, daemon, clone } = rig;
    const first = await createPull(daemon, await clone.change({ a: "1\n" }), {
      task: await ask(daemon),
      title: "One",
    });
    await messageOf(daemon, first.outbox_id);
    const task = await ask(daemon);
    const second = await createPull(daemon, await clone.change({ a: "2\n" }), {
      task,
      title: "Two",
    });
    const sent = await messageOf(daemon, second.outbox_id);
    equal(sent.state, "sent", sent.reason);
    equal(await fake.git.find(REPOSITORY, "refs/heads/svc/fix-1"), second.sha);
    deepEqual(fake.pulls.pulls.map(({ issue }) => issue.title), ["Two"]);
    const pushes = fake.calls.filter(({ path }) => path.includes("git-receive-pack")).length;
    const third = await createPull(daemon, await clone.change({}), { task, title: "Three" });
    deepEqual([third.sha, third.files], [second.sha, 0]);
    await messageOf(daemon, third.outbox_id);
    deepEqual(fake.pulls.pulls.map(({ issue }) => issue.title), ["Three"]);
    equal(fake.calls.filter(({ path }) => path.includes("git-receive-pack")).length, pushes);
    deepEqual(await heads(fake), ["main", "svc/fix-1"]);
  },
);

changeTest(
  "a task that svc's own pull request has started opens no other, one that a person has does",
  async () => {
    await using rig = await changeRig({ webhook: { own: "pulls" } });
    const { fake, daemon, clone } = rig;
    const first = await createPull(daemon, await clone.change({ a: "1\n" }), {
      task: await ask(daemon),
      title: "One",
    });
    await messageOf(daemon, first.outbox_id);
    const [pull] = fake.pulls.pulls;
    const other = manifestsOf(fake.url, { webhook: { own: "pulls" } })
      .filter(({ kind }) => kind === "Trigger")
      .map((one) => ({ ...one, metadata: { name: "other" } }));
    await daemon.apply(...other);
    const start = async (sender: { readonly login: string; readonly id: number }) => {
      const head = { ref: pull?.head.branch, repo: { full_name: REPOSITORY } };
      const { body } = pull?.issue ?? {};
      const pull_request = { number: pull?.number, title: "One", body, head };
      const repository = { full_name: REPOSITORY };
      await sendEvent(daemon, "other", "pull_request", {
        action: "labeled",
        pull_request,
        repository,
        sender: { ...sender, type: "User" },
      });
      const [task] = await daemon.tasks();
      return task?.id ?? "";
    };
    const change = await clone.change({ b: "2\n" });
    const created = async (task: string) =>
      await createPull(daemon, change, { task, title: "Two", key: "two" });
    await rejects(created(await start({ login: TOKEN.login, id: TOKEN.id })), {
      code: "refused",
      message: /was started by svc's own pull request "fix", so it opens no other$/,
    });
    const second = await created(await start(ADA));
    equal((await messageOf(daemon, second.outbox_id)).state, "sent");
  },
);

changeTest(
  "commits of somebody else on the branch stay, and a task may start from them",
  async () => {
    await using rig = await changeRig();
    const { fake, daemon, clone } = rig;
    const first = await createPull(daemon, await clone.change({ a: "1\n" }), {
      task: await ask(daemon),
      title: "One",
    });
    await messageOf(daemon, first.outbox_id);
    const theirs = await fake.git.commit(REPOSITORY, "svc/fix-1", { b: "theirs\n" });
    const task = await ask(daemon);
    const second = await createPull(daemon, await clone.change({ a: "2\n" }), {
      task,
      title: "Two",
    });
    const refused = await messageOf(daemon, second.outbox_id);
    equal(refused.state, "failed");
    match(refused.reason, /branch svc\/fix-1 has commits of Ada Pereira since/);
    equal(await fake.git.find(REPOSITORY, "refs/heads/svc/fix-1"), theirs);
    await clone.checkOut("svc/fix-1");
    const third = await createPull(daemon, await clone.change({ a: "3\n" }), {
      task: await ask(daemon),
      title: "Three",
    });
    const sent = await messageOf(daemon, third.outbox_id);
    equal(sent.state, "sent", sent.reason);
    equal(await fake.git.run(REPOSITORY, "rev-parse", `${third.sha}^`), theirs);
    // Ours is on top of theirs now, so putting another in its place would take theirs away, too.
    await clone.checkOut("main");
    const fourth = await createPull(daemon, await clone.change({ a: "4\n" }), {
      task: await ask(daemon),
      title: "Four",
    });
    match((await messageOf(daemon, fourth.outbox_id)).reason, /has commits of Ada Pereira since/);
  },
);

changeTest(
  "after a merge another branch follows; an event from before it is dropped",
  async () => {
    await using rig = await changeRig({ may: { pull: { max: 3 } } });
    const { fake, daemon, clone } = rig;
    const first = await createPull(daemon, await clone.change({ a: "1\n" }), {
      task: await ask(daemon),
      title: "One",
    });
    await messageOf(daemon, first.outbox_id);
    const before = await ask(daemon);
    const [pull] = fake.pulls.pulls;
    ok(pull !== undefined);
    fake.setNow(new Date(Date.now() + 60_000).toISOString());
    await fake.pulls.close(pull, ADA, true);
    await clone.checkOut("main");
    const late = await createPull(daemon, await clone.change({ a: "2\n" }), {
      task: before,
      title: "Two",
    });
    const dropped = await messageOf(daemon, late.outbox_id);
    equal(dropped.state, "dropped");
    match(dropped.reason, /pull request #2 was closed after the task was asked for/);
    deepEqual(await heads(fake), ["main", "svc/fix-1"]);
    pull.closedAt = new Date(Date.now() - 60_000).toISOString();
    const anew = await createPull(daemon, await clone.change({ a: "3\n" }), {
      task: await ask(daemon),
      title: "Three",
    });
    const sent = await messageOf(daemon, anew.outbox_id);
    equal(sent.state, "sent", sent.reason);
    deepEqual(await heads(fake), ["main", "svc/fix-1", "svc/fix-1-2"]);
  },
);

changeTest("what the workflow does not allow is refused at the call, with the rule", async () => {
  await using rig = await changeRig({
    may: { pull: { paths: { allow: ["src/**", "**/*.json"] }, files: 2, bytes: 1000 } },
  });
  const { fake, daemon, clone } = rig;
  const task = await ask(daemon);
  const refused = async (files: Record<string, string>, given: object, words: RegExp) => {
    await clone.checkOut("main");
    const change = await clone.change(files);
    await rejects(
      createPull(daemon, change, { task, title: "Fix", ...given }),
      (error: Error) => words.test(error.message) || Boolean(ok(false, error.message)),
    );
  };
  const a = { "src/a.ts": "a\n" };
  await refused(
    { "README.md": "x" },
    {},
    /may\.github\.pull .* "README\.md|README\.md \(paths\.allow/,
  );
  await refused(
    { "src/1": "1", "src/2": "2", "src/3": "3" },
    {},
    /pull\.files .* allows 2 .* has 3/,
  );
  await refused({ "src/big": "x".repeat(2000) }, {}, /pull\.bytes .* allows 1000 bytes/);
  await refused({ "src/b": `token ${TOKEN.token}\n` }, {}, /src\/b:1 has a secret that svc knows/);
  await refused(a, { title: TOKEN.token }, /The title has a secret/);
  await refused(a, { base: "release/1" }, /pull\.base .* allows main, the default branch/);
  await refused(a, { labels: ["bug"] }, /pull\.allowLabels .* allows no labels, and not "bug"/);
  await refused(a, { key: "a b" }, /"a b" cannot be the key/);
  await refused(a, { title: " " }, /needs a title/);
  await clone.checkOut("main");
  const workflows = { ".github/workflows/ci.yml": "on: push\n" };
  await refused(workflows, {}, /workflows of GitHub Actions need workflows: true/);
  deepEqual(await heads(fake), ["main"]);
  equal((await daemon.json("get", "outbox") as unknown[]).length, 0);
});

changeTest("commits that are not at GitHub are named, and stay where they are", async () => {
  await using rig = await changeRig();
  const { fake, daemon, clone } = rig;
  const task = await ask(daemon);
  const hidden = await clone.change({ hidden: "unpublished\n" });
  const commit = await new Deno.Command("git", {
    args: [
      "-C",
      clone.path,
      "-c",
      "user.name=T",
      "-c",
      "user.email=t@x",
      "commit",
      "-qm",
      "secret",
    ],
  }).output();
  ok(commit.success);
  const change = await clone.change({ a: "1\n" });
  ok(change.start !== hidden.start);
  await rejects(
    createPull(daemon, change, { task, title: "Fix" }),
    /The commit [0-9a-f]{10}, at which the task began, is not at brightwater\/tidepool/,
  );
  await fake.git.commit(REPOSITORY, "other", { x: "y\n" }, { from: "main" });
  await clone.checkOut("other");
  await rejects(
    createPull(daemon, await clone.change({ a: "1\n" }), { task, title: "Fix" }),
    /commits that are not in main at brightwater\/tidepool: [0-9a-f]{10} Change x; merge them first/,
  );
});

changeTest("a base is a branch of the repository, and not a commit that a fork has", async () => {
  await using rig = await changeRig({ may: { pull: { base: ["*"] } } });
  const { fake, daemon, clone } = rig;
  const task = await ask(daemon);
  await fake.git.commit(REPOSITORY, "of-a-fork", { ".github/workflows/x.yml": "y\n" }, {
    from: "main",
  });
  const base = await clone.checkOut("of-a-fork");
  const change = await clone.change({ a: "1\n" });
  equal(change.start, base);
  await rejects(
    createPull(daemon, change, { task, title: "Fix", base }),
    /brightwater\/tidepool has no branch "[0-9a-f]{40}"/,
  );
  deepEqual(await heads(fake), ["main", "of-a-fork"]);
});

changeTest("limits count keys, also of two calls at once", async () => {
  await using rig = await changeRig();
  const { fake, daemon, clone } = rig;
  const task = await ask(daemon);
  const asked = [];
  // of one content, the second would be refused for that once the first is there
  for (const key of ["one", "two", "three"]) {
    await clone.checkOut("main");
    asked.push({ key, change: await clone.change({ [key]: "1\n" }) });
  }
  const results = await Promise.allSettled(
    asked.map(({ key, change }) => createPull(daemon, change, { task, title: "Fix", key })),
  );
  equal(results.filter(({ status }) => status === "fulfilled").length, 1);
  const refused = results.find(({ status }) => status === "rejected") as PromiseRejectedResult;
  match(String(refused.reason.message), /may\.github\.pull allows 1/);
  const won = results.find(({ status }) => status === "fulfilled") as PromiseFulfilledResult<
    { outbox_id: string }
  >;
  await messageOf(daemon, won.value.outbox_id);
  equal(fake.pulls.pulls.length, 1);
});

changeTest("protected files wait for a person; allow.outputs counts when it is sent", async () => {
  await using rig = await changeRig();
  const { fake, daemon, clone } = rig;
  const task = await ask(daemon);
  const change = await clone.change({ "package.json": "{}\n" });
  const held = await createPull(daemon, change, { task, title: "Fix" });
  equal(held.state, "held");
  match(held.held_for ?? "", /^1 file is protected \(package\.json\)$/);
  equal((await messageOf(daemon, held.outbox_id)).state, "held");
  deepEqual(await heads(fake), ["main"]);
  await daemon.apply(...manifestsOf(fake.url, { outputs: ["comment"] }));
  await daemon.json("outbox", "send", held.outbox_id);
  const closed = await messageOf(daemon, held.outbox_id);
  equal(closed.state, "failed");
  match(closed.reason, /allow\.outputs of Connection "tidepool" does not have pull/);
  deepEqual(await heads(fake), ["main"]);
  await daemon.apply(...manifestsOf(fake.url));
  await daemon.json("outbox", "retry", held.outbox_id);
  equal((await messageOf(daemon, held.outbox_id)).state, "sent");
  deepEqual(await heads(fake), ["main", "svc/fix-1"]);
});

changeTest("what a protected link of the repository leads to waits for a person, too", async () => {
  await using rig = await changeRig();
  const { daemon, clone } = rig;
  await Deno.symlink("other", `${clone.path}/.vscode`);
  await clone.change({ "other/settings.json": "{}\n" });
  await git(clone.path, "commit", "--quiet", "-m", "A link");
  await git(clone.path, "push", "--quiet", "origin", "HEAD:main");
  const change = await clone.change({ "other/tasks.json": "{}\n", "others": "\n" });
  const held = await createPull(daemon, change, { task: await ask(daemon), title: "Fix" });
  match(held.held_for ?? "", /^1 file is protected \(other\/tasks\.json\)$/);
});

changeTest("GitHub's words about drafts, rules and rights reach the message", async () => {
  await using rig = await changeRig({ may: { pull: { max: 9 } } });
  const { fake, daemon, clone } = rig;
  const task = await ask(daemon);
  const attempt = async (key: string) => {
    const change = await clone.change({ [key]: "1\n" });
    const { outbox_id } = await createPull(daemon, change, { task, title: "Fix", key });
    return await messageOf(daemon, outbox_id);
  };
  fake.pulls.withoutDrafts.add(REPOSITORY);
  match((await attempt("draft")).reason, /no draft pull requests: write draft: false/);
  fake.pulls.withoutDrafts.clear();
  await fake.git.setHook(REPOSITORY, "echo 'GH013: Repository rule violations found' >&2; exit 1");
  match((await attempt("rule")).reason, /GH013: Repository rule violations found/);
});

changeTest("a commit goes onto the pull request of the event, and only forward", async () => {
  await using rig = await changeRig({ may: { push: { max: 2 } } });
  const { fake, daemon, clone } = rig;
  const head = await fake.git.commit(REPOSITORY, "feature", { f: "1\n" }, { from: "main" });
  const pull = await fake.pulls.open({ repository: REPOSITORY, user: ADA, head: "feature" });
  const { number } = pull;
  const task = await ask(daemon, { number, isPull: true });
  await clone.checkOut("feature");
  const change = await clone.change({ f: "2\n" });
  const queued = await pushChange(daemon, change, { task, message: "Work it in" });
  deepEqual([queued.branch, queued.base, queued.files], ["feature", null, 1]);
  const sent = await messageOf(daemon, queued.outbox_id);
  equal(sent.state, "sent", sent.reason);
  equal(await fake.git.find(REPOSITORY, "refs/heads/feature"), queued.sha);
  equal(await fake.git.run(REPOSITORY, "rev-parse", `${queued.sha}^`), head);
  await rejects(
    pushChange(daemon, change, { task }),
    /is at [0-9a-f]{10} now, and this change begins at [0-9a-f]{10}/,
  );
  await rejects(
    pushChange(daemon, change, { task: await ask(daemon) }),
    /has no pull request to push onto/,
  );
  await fake.git.make("mona/tidepool", REPOSITORY);
  await fake.git.commit("mona/tidepool", "theirs", { x: "1\n" });
  const fork = await fake.pulls.open({
    repository: REPOSITORY,
    user: { login: "mona", id: 9 },
    head: "mona:theirs",
  });
  await rejects(
    pushChange(daemon, change, { task: await ask(daemon, { number: fork.number, isPull: true }) }),
    /is from another repository than brightwater\/tidepool/,
  );
});

changeTest("rounds: so many pushes in a row, until a person has a say", async () => {
  await using rig = await changeRig({ may: { push: { max: 5, rounds: 2 } } });
  const { fake, daemon, clone } = rig;
  await fake.git.commit(REPOSITORY, "feature", { f: "1\n" }, { from: "main" });
  const { number } = await fake.pulls.open({ repository: REPOSITORY, user: ADA, head: "feature" });
  let round = 0;
  const push = async (sender: Record<string, unknown>) => {
    const task = await ask(daemon, { number, isPull: true, sender });
    await clone.checkOut("feature");
    const change = await clone.change({ f: `round ${++round}\n` });
    const { outbox_id } = await pushChange(daemon, change, { task });
    equal((await messageOf(daemon, outbox_id)).state, "sent");
  };
  const bot = { login: "ci[bot]", id: 99, type: "Bot" };
  const own = { login: "svc-bot", id: TOKEN.id, type: "User" };
  await push(bot);
  await push(own);
  await rejects(push(bot), /may\.github\.push allows 2 in a row \(rounds\)/);
  await push({ ...ADA, type: "User" });
  await push(bot);
  await rejects(push(bot), /in a row \(rounds\)/);
});

changeTest("a limit of GitHub delays a message, and what was done is not done again", async () => {
  await using rig = await changeRig();
  const { fake, daemon, clone } = rig;
  const task = await ask(daemon);
  let limits = 1;
  fake.interfere = (call) =>
    call.method === "POST" && call.path.endsWith("/pulls") && limits-- > 0
      ? problem(403, "You have exceeded a secondary rate limit", { "retry-after": "1" })
      : undefined;
  const change = await clone.change({ a: "1\n" });
  const { outbox_id } = await createPull(daemon, change, { task, title: "Fix" });
  equal((await messageOf(daemon, outbox_id)).state, "sent");
  equal(fake.pulls.pulls.length, 1);
  const pushes = fake.calls.filter(({ method, path }) =>
    method === "POST" && path.includes("git-receive-pack")
  );
  equal(pushes.length, 1);
});
