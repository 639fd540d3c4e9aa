/**
 * Merge requests at GitLab, through the interface of forges.
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
import { AppError } from "../../../src/base/errors.ts";
import { CallFailed, type NewPull } from "../../../src/connections/api/forge.ts";
import {
  ADA,
  addProject,
  BOT,
  type FakeGitLab,
  fakeGitLab,
  GITLAB_PROJECT,
  type GitLabUser,
} from "../../fakes/gitlab.ts";
import { gitLabProject } from "../../rigs/gitlab_project.ts";
import { missing, skippable } from "../../helpers/requirements.ts";

const NEW: NewPull = {
  title: "Sample more often",
  body: "Every ten seconds.",
  branch: "svc/fix-41",
  base: "main",
  draft: true,
};

async function withBranch(branch: string = NEW.branch): Promise<FakeGitLab> {
  const fake = await fakeGitLab();
  await fake.git.commit(GITLAB_PROJECT, branch, { "gauge.conf": "10\n" }, { from: "main" });
  return fake;
}

function isRefused(words: RegExp) {
  return (error: unknown) =>
    error instanceof AppError && error.code === "refused" && words.test(error.message);
}

Deno.test(
  skippable("a draft is opened once, and found by its branch and number", missing("git")),
  async () => {
    await using fake = await withBranch();
    const at = gitLabProject(fake);
    const opened = await at.openPull(NEW);
    ok(opened.result === "opened");
    const sha = await fake.git.find(GITLAB_PROJECT, NEW.branch);
    deepEqual(opened.pull, {
      number: 1,
      isOpen: true,
      branch: NEW.branch,
      base: "main",
      sha,
      title: NEW.title,
      body: NEW.body,
      userId: "4242",
      by: "svc-bot",
      labels: [],
      url: `https://gitlab.com/${GITLAB_PROJECT}/-/merge_requests/1`,
    });
    equal(fake.threads.threads[0]?.title, "Draft: Sample more often");
    const again = await at.openPull(NEW);
    equal(again.result, "exists");
    ok(again.result === "exists");
    match(again.reason, /already exists for this source branch: !1/);
    deepEqual(await at.readPull(1), opened.pull);
    deepEqual(await at.pullsFrom(NEW.branch), [opened.pull]);
    deepEqual(await at.pullsFrom("svc/fix"), []);
    equal(await at.headOfPull(1), sha);
    deepEqual(await Array.fromAsync(at.openPulls("main")), [[opened.pull]]);
    deepEqual(await Array.fromAsync(at.openPulls("other")), [[]]);
  },
);

for (
  const [title, draft, expected] of [
    ["Add a gauge", false, "Add a gauge"],
    ["Add a gauge", true, "Draft: Add a gauge"],
    ["Draft: add a gauge", true, "Draft: add a gauge"],
    ["[draft] (Draft) draft: add a gauge", false, "add a gauge"],
    ["Drafting a gauge", false, "Drafting a gauge"],
  ] as const
) {
  Deno.test(
    skippable(`"${title.slice(0, 40)}" as ${draft ? "a" : "no"} draft`, missing("git")),
    async () => {
      await using fake = await withBranch();
      await gitLabProject(fake).openPull({ ...NEW, title, draft });
      equal(fake.threads.threads[0]?.title, expected);
    },
  );
}

Deno.test(
  skippable(
    "nothing is opened onto a branch that is not there, from one, or without a commit",
    missing("git"),
  ),
  async () => {
    await using fake = await withBranch();
    const at = gitLabProject(fake);
    await rejects(at.openPull({ ...NEW, base: "mian" }), isRefused(/has no branch mian: name one/));
    await rejects(at.openPull({ ...NEW, branch: "svc/x" }), isRefused(/no branch svc\/x any more/));
    const sha = await fake.git.find(GITLAB_PROJECT, NEW.branch) ?? "";
    await fake.git.run(GITLAB_PROJECT, "update-ref", "refs/heads/main", sha);
    deepEqual(await at.openPull(NEW), { result: "nothing new" });
    equal(fake.mergeRequests.all.length, 0);
  },
);

Deno.test(skippable("a tag of the name of the target is no branch", missing("git")), async () => {
  await using fake = await withBranch();
  await fake.git.run(GITLAB_PROJECT, "tag", "v1", "main");
  await rejects(gitLabProject(fake).openPull({ ...NEW, base: "v1" }), isRefused(/no branch v1/));
});

Deno.test(
  skippable("a draft stays one when its title is changed, and another stays none", missing("git")),
  async () => {
    await using fake = await withBranch();
    const at = gitLabProject(fake);
    const opened = await at.openPull(NEW);
    ok(opened.result === "opened");
    const { pull } = opened;
    const [thread] = fake.threads.threads;
    ok(thread !== undefined);
    await at.editPull(pull, { title: "Renamed", body: "New text" });
    deepEqual([thread.title, thread.description], ["Draft: Renamed", "New text"]);
    equal((await at.readPull(1))?.title, "Renamed");
    thread.title = "Ready"; // by a person
    await at.editPull(pull, { title: "Renamed again" });
    equal(thread.title, "Renamed again");
    await at.editPull(pull, { body: "Only the text" });
    deepEqual([thread.title, thread.description], ["Renamed again", "Only the text"]);
  },
);

Deno.test(
  skippable("a merge request is moved only onto a branch that is there", missing("git")),
  async () => {
    await using fake = await withBranch();
    await fake.git.commit(GITLAB_PROJECT, "release/1", { "a.txt": "a" }, { from: "main" });
    const at = gitLabProject(fake);
    const opened = await at.openPull(NEW);
    ok(opened.result === "opened");
    await at.editPull(opened.pull, { base: "release/1" });
    await rejects(at.editPull(opened.pull, { base: "release" }), isRefused(/no branch release:/));
    equal((await at.readPull(1))?.base, "release/1");
  },
);

Deno.test(
  skippable(
    "merge requests of forks are none of this project, whatever their branches",
    missing("git"),
  ),
  async () => {
    await using fake = await withBranch();
    const project = fake.state.projectAt(GITLAB_PROJECT);
    ok(project !== undefined);
    const fork = await addProject(fake.state, "mo/tidepool", { forkedFrom: project.id });
    await fake.git.commit(fork.path, NEW.branch, { "x.txt": "x" }, { from: "main" });
    const at = gitLabProject(fake);
    const first = await at.openPull(NEW);
    ok(first.result === "opened");
    // More than a page of them, closed and opened again by a stranger
    for (let n = 0; n < 60; n++) {
      const given = { user: ADA, branch: NEW.branch, from: fork.path };
      const one = await fake.mergeRequests.open(GITLAB_PROJECT, given);
      if (n < 59) await fake.mergeRequests.close(one, ADA);
    }
    deepEqual((await at.pullsFrom(NEW.branch)).map(({ number }) => number), [1]);
    equal(await at.readPull(61), undefined);
    equal(await at.headOfPull(61), await fake.git.find(fork.path, NEW.branch));
    deepEqual((await Array.fromAsync(at.openPulls("main"))).flat().map(({ number }) => number), [
      1,
    ]);
  },
);

Deno.test(
  skippable(
    "one that is about to be merged is open, one that was closed says when",
    missing("git"),
  ),
  async () => {
    await using fake = await withBranch();
    const at = gitLabProject(fake);
    await at.openPull(NEW);
    const [one] = fake.mergeRequests.all;
    ok(one !== undefined);
    one.thread.state = "locked";
    equal((await at.readPull(1))?.isOpen, true);
    fake.state.setNow("2026-03-01T10:00:00.000Z");
    await fake.mergeRequests.close(one, ADA, true);
    const merged = await at.readPull(1);
    deepEqual([merged?.isOpen, merged?.closedAt], [false, Date.parse("2026-03-01T10:00:00Z")]);
  },
);

Deno.test(
  skippable("the commits of a merge request are known, of all pages", missing("git")),
  async () => {
    await using fake = await withBranch();
    const shas = [await fake.git.find(GITLAB_PROJECT, NEW.branch)];
    for (let n = 0; n < 3; n++) {
      shas.push(await fake.git.commit(GITLAB_PROJECT, NEW.branch, { "n.txt": `${n}` }));
    }
    const at = gitLabProject(fake);
    await at.openPull(NEW);
    fake.interfere = (call, carryOut) => {
      if (!call.path.includes("/commits")) return undefined;
      Object.assign(call, { path: call.path.replace("per_page=100", "per_page=1") });
      return carryOut();
    };
    for (const sha of shas) equal(await at.isCommitOfPull(sha ?? "", 1), true);
    const main = await fake.git.find(GITLAB_PROJECT, "main") ?? "";
    equal(await at.isCommitOfPull(main, 1), false);
    await rejects(at.isCommitOfPull(main, 9), CallFailed);
  },
);

Deno.test(
  skippable(
    "reviewers are added to those who were asked; groups and strangers are refused",
    missing("git"),
  ),
  async () => {
    const users: GitLabUser[] = [BOT, ADA, { id: 9, username: "mo.ra" }, {
      id: 10,
      username: "mo",
    }];
    await using fake = await fakeGitLab({ users });
    await fake.git.commit(GITLAB_PROJECT, NEW.branch, { "a.txt": "a" }, { from: "main" });
    const at = gitLabProject(fake);
    await at.openPull(NEW);
    const [one] = fake.mergeRequests.all;
    ok(one !== undefined);
    one.reviewers = [10];
    await at.askReviewers(1, ["Ada-Pereira", "mo.ra"]);
    deepEqual(one.reviewers, [10, 77, 9]);
    await rejects(at.askReviewers(1, ["mo", "brightwater/core"]), isRefused(/asks people only/));
    await rejects(at.askReviewers(1, ["nobody"]), isRefused(/has no user nobody/));
    await rejects(at.askReviewers(1, ["mo&per_page=1"]), isRefused(/has no user mo&per_page=1/));
    deepEqual(one.reviewers, [10, 77, 9]);
  },
);

Deno.test(skippable("answers of another form are no merge requests", missing("git")), async () => {
  await using fake = await withBranch();
  const at = gitLabProject(fake);
  const good = {
    iid: 3,
    source_project_id: 5,
    target_project_id: 5,
    state: "opened",
    source_branch: NEW.branch,
    web_url: "https://gitlab.com/a/b",
  };
  const bad = [
    null,
    "x",
    {},
    { ...good, iid: "3" },
    { ...good, source_project_id: null, target_project_id: null },
    { ...good, source_project_id: 6 },
    { ...good, source_branch: "other" },
  ];
  fake.interfere = () =>
    Response.json([...bad, {
      ...good,
      web_url: "javascript:\u001b[2J",
      sha: "../x",
      labels: [{}],
    }]);
  const [found, ...rest] = await at.pullsFrom(NEW.branch);
  deepEqual([found?.number, found?.url, found?.sha, found?.labels, rest], [3, "", "", [""], []]);
  fake.interfere = () => Response.json({ id: 1 });
  deepEqual(await at.pullsFrom(NEW.branch), []);
  equal(await at.readPull(3), undefined);
  equal(await at.headOfPull(3), undefined);
});
