/**
 * Notes, reactions, labels, issues and statuses at GitLab, through the interface of forges.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { AppError } from "../../../src/base/errors.ts";
import { CallFailed } from "../../../src/connections/api/forge.ts";
import { EndlessListError } from "../../../src/connections/api/pages.ts";
import { ADA, addProject, BOT, fakeGitLab, GITLAB_PROJECT } from "../../fakes/gitlab.ts";
import { gitLabProject } from "../../rigs/gitlab_project.ts";
import { missing, skippable } from "../../helpers/requirements.ts";

const ISSUE = { number: 1, isPull: false };

function isRefused(words: RegExp) {
  return (error: unknown) =>
    error instanceof AppError && error.code === "refused" && words.test(error.message);
}

function hasStatus(status: number) {
  return (error: unknown) => error instanceof CallFailed && error.failure.status === status;
}

Deno.test(
  skippable(
    "notes of an issue and of the merge request of its number are kept apart",
    missing("git"),
  ),
  async () => {
    await using fake = await fakeGitLab();
    const issue = fake.threads.openIssue(GITLAB_PROJECT, { author: ADA });
    await fake.git.commit(GITLAB_PROJECT, "svc/fix", { "a.txt": "a" }, { from: "main" });
    const { thread } = await fake.mergeRequests.open(GITLAB_PROJECT, {
      user: ADA,
      branch: "svc/fix",
    });
    deepEqual([issue.iid, thread.iid], [1, 1]);
    const at = gitLabProject(fake);
    const onIssue = await at.addComment(ISSUE, "on the issue");
    const onPull = await at.addComment({ number: 1, isPull: true }, "on the merge request");
    const bodies = (of: unknown) =>
      fake.threads.notes.filter((note) => note.thread === of).map(({ body }) => body);
    deepEqual(bodies(issue), ["on the issue"]);
    deepEqual(bodies(thread), ["on the merge request"]);
    equal(await at.editComment(ISSUE, onIssue, "changed"), true);
    equal(await at.editComment(ISSUE, onPull, "stolen"), false);
    deepEqual(bodies(thread), ["on the merge request"]);
    await rejects(at.addComment({ number: 7, isPull: false }, "x"), hasStatus(404));
  },
);

Deno.test(
  skippable(
    "comments since a time are found, the newest first, without what GitLab wrote",
    missing("git"),
  ),
  async () => {
    await using fake = await fakeGitLab();
    const issue = fake.threads.openIssue(GITLAB_PROJECT, { author: ADA });
    const day = (n: number) => `2026-01-${String(n).padStart(2, "0")}T12:00:00.000Z`;
    for (let n = 1; n <= 28; n++) {
      fake.state.setNow(day(n));
      for (let i = 0; i < 5; i++) fake.threads.note(issue, n % 2 === 0 ? ADA : BOT, `${n}.${i}`);
      fake.threads.note(issue, BOT, "added ~bug label", { system: true });
    }
    const [first] = fake.threads.notes;
    ok(first !== undefined);
    fake.state.setNow(day(29));
    const at = gitLabProject(fake);
    equal(await at.editComment(ISSUE, `${first.id}`, "1.0 changed"), true);
    const since = Date.parse(day(17));
    const found = await Array.fromAsync(at.commentsOf(ISSUE, since));
    equal(found.length, 12 * 5 + 1);
    deepEqual(found[0], { id: `${first.id}`, userId: "4242", body: "1.0 changed" });
    ok(found.every(({ body }) => !body.includes("label")));
    // 169 notes at 50 a page, and reading ends where they are older
    equal(fake.calls.filter(({ path }) => path.includes("/notes?")).length, 2);
    deepEqual(await Array.fromAsync(at.commentsOf(ISSUE, Date.parse(day(30)))), []);
  },
);

Deno.test(
  skippable(
    "a text that GitLab takes for commands only makes no comment, and has no id",
    missing("git"),
  ),
  async () => {
    await using fake = await fakeGitLab();
    fake.threads.openIssue(GITLAB_PROJECT, { author: ADA });
    const at = gitLabProject(fake);
    equal(await at.addComment(ISSUE, "/close\n/label ~bug"), "");
    equal(fake.threads.notes.length, 0);
    deepEqual(fake.threads.executed.map(({ line }) => line), ["/close", "/label ~bug"]);
  },
);

Deno.test(
  skippable("notes of other forms are left out, and a list without an end ends", missing("git")),
  async () => {
    await using fake = await fakeGitLab();
    fake.threads.openIssue(GITLAB_PROJECT, { author: ADA });
    const at = gitLabProject(fake);
    const good = { id: 7, body: "x", system: false, updated_at: "2026-01-01T00:00:00Z" };
    const odd = [null, 5, [], {}, { ...good, id: "7" }, { ...good, id: -7 }, {
      ...good,
      system: true,
    }];
    fake.interfere = () => Response.json([...odd, { ...good, body: 5, author: "ada" }]);
    deepEqual(await Array.fromAsync(at.commentsOf(ISSUE, 0)), [{ id: "7", userId: "", body: "" }]);
    let n = 0;
    fake.interfere = ({ path }) => {
      const [what] = path.split("?");
      const link = `<${fake.url}${what}?page=${++n}>; rel="next"`;
      return Response.json([good], { headers: { link } });
    };
    await rejects(Array.fromAsync(at.commentsOf(ISSUE, 0)), EndlessListError);
  },
);

for (
  const [content, name] of [
    ["+1", "thumbsup"],
    ["-1", "thumbsdown"],
    ["laugh", "laughing"],
    ["confused", "confused"],
    ["heart", "heart"],
    ["hooray", "tada"],
    ["rocket", "rocket"],
    ["eyes", "eyes"],
  ] as const
) {
  Deno.test(
    skippable(
      `the reaction ${content} is :${name}:, once however often it is sent`,
      missing("git"),
    ),
    async () => {
      await using fake = await fakeGitLab();
      const issue = fake.threads.openIssue(GITLAB_PROJECT, { author: ADA });
      const { id } = fake.threads.note(issue, ADA, "look");
      const at = gitLabProject(fake);
      for (const to of ["issues/1", `issues/1/notes/${id}`]) {
        await at.react(to, content);
        await at.react(to, content);
      }
      deepEqual(fake.threads.awards.map(({ to, name, user }) => [to, name, user.id]), [
        ["issues/1", name, BOT.id],
        [`issues/1/notes/${id}`, name, BOT.id],
      ]);
    },
  );
}

Deno.test(
  skippable(
    "a reaction of somebody else does not count, and one made meanwhile does",
    missing("git"),
  ),
  async () => {
    await using fake = await fakeGitLab();
    const issue = fake.threads.openIssue(GITLAB_PROJECT, { author: ADA });
    const project = issue.project;
    const award = (id: number, user: typeof ADA) =>
      fake.threads.awards.push({ id, project, to: "issues/1", name: "eyes", user });
    award(1, ADA);
    const at = gitLabProject(fake);
    fake.interfere = ({ method }) => {
      if (method === "POST") award(2, BOT); // between looking and asking
      return undefined;
    };
    await at.react("issues/1", "eyes");
    equal(fake.threads.awards.length, 2);
    await rejects(at.react("issues/9", "eyes"), hasStatus(404));
    await rejects(at.react("issues/1", "unicorn"), hasStatus(404));
  },
);

Deno.test(
  skippable("a label is one of exactly this name, and not that with this id", missing("git")),
  async () => {
    await using fake = await fakeGitLab();
    const issue = fake.threads.openIssue(GITLAB_PROJECT, { author: ADA });
    const at = gitLabProject(fake);
    const found = await Promise.all(
      ["bug", "Bug", "area/docs", "no such", "5", "7", "bug,automated"].map((one) =>
        at.hasLabel(one)
      ),
    );
    // the id of "area/docs" is 7
    deepEqual(found, [true, false, true, false, false, false, false]);
    await at.addLabels(ISSUE, ["bug", "area/docs"]);
    await at.addLabels(ISSUE, ["automated", "bug"]);
    deepEqual(issue.labels, ["area/docs", "automated", "bug"]);
    await at.removeLabel(ISSUE, "bug");
    await at.removeLabel(ISSUE, "bug");
    deepEqual(issue.labels, ["area/docs", "automated"]);
    await rejects(at.removeLabel({ number: 9, isPull: false }, "bug"), hasStatus(404));
    await rejects(at.addLabels(ISSUE, ["new,bug"]), isRefused(/no label with a comma: "new,bug"/));
    deepEqual([...fake.threads.labelsOf(issue.project)].includes("new"), false);
  },
);

Deno.test(
  skippable(
    "an issue is opened, changed, and found among those of svc that are open",
    missing("git"),
  ),
  async () => {
    await using fake = await fakeGitLab();
    const at = gitLabProject(fake);
    fake.threads.openIssue(GITLAB_PROJECT, { author: ADA, description: "of a person" });
    const number = await at.addIssue({ title: "t", body: "one", labels: ["bug"] });
    equal(number, 2);
    const issue = fake.threads.threads[1];
    ok(issue !== undefined);
    deepEqual([issue.title, issue.labels], ["t", ["bug"]]);
    await at.editIssue(2, { title: "renamed", body: "two" });
    deepEqual([issue.title, issue.description], ["renamed", "two"]);
    await at.addIssue({ title: "again", body: "three", labels: [] });
    const own = async (since?: number) =>
      (await Array.fromAsync(at.ownIssues(since))).map((
        { id, userId, body },
      ) => [id, userId, body]);
    deepEqual(await own(), [["3", "4242", "three"], ["2", "4242", "two"]]);
    equal(await at.isIssueOpen(2), true);
    issue.state = "closed";
    equal(await at.isIssueOpen(2), false);
    equal(await at.isIssueOpen(9), false);
    deepEqual(await own(), [["3", "4242", "three"]]);
    deepEqual(await own(Date.parse("2999-01-01T00:00:00Z")), []);
  },
);

Deno.test(
  skippable("issues are not looked for without knowing whose", missing("git")),
  async () => {
    await using fake = await fakeGitLab();
    fake.interfere = ({ path }) => path === "/user" ? Response.json({ id: "4242" }) : undefined;
    await rejects(Array.fromAsync(gitLabProject(fake).ownIssues()), isRefused(/names no user/));
  },
);

Deno.test(
  skippable(
    "a status is set in GitLab's words, and a state that it has is no error",
    missing("git"),
  ),
  async () => {
    await using fake = await fakeGitLab();
    const at = gitLabProject(fake);
    const sha = await fake.git.find(GITLAB_PROJECT, "main");
    ok(sha !== undefined);
    const set = (state: "pending" | "success" | "failure" | "error", context = "svc/fix") =>
      at.setStatus({ sha, state, context, description: `is ${state}` });
    for (
      const state of ["pending", "pending", "success", "success", "pending", "failure"] as const
    ) {
      await set(state);
    }
    await set("error", "svc/other");
    deepEqual(fake.threads.statuses.map(({ name, status, ref }) => [name, status, ref]), [
      ["svc/fix", "success", "main"],
      ["svc/fix", "success", "main"],
      ["svc/fix", "failed", "main"],
      ["svc/other", "failed", "main"],
    ]);
    await rejects(
      at.setStatus({ sha: "0".repeat(39) + "1", state: "pending", context: "x", description: "" }),
      hasStatus(404),
    );
  },
);

Deno.test(
  skippable("a status that is refused for another reason is not taken as set", missing("git")),
  async () => {
    await using fake = await fakeGitLab();
    const sha = await fake.git.find(GITLAB_PROJECT, "main") ?? "";
    fake.interfere = ({ method }) =>
      method === "POST"
        ? Response.json({ message: "Cannot transition status" }, { status: 400 })
        : undefined;
    const status = { sha, context: "svc", description: "" };
    const at = gitLabProject(fake);
    await rejects(at.setStatus({ ...status, state: "pending" }), hasStatus(400));
    await rejects(at.setStatus({ ...status, state: "success" }), hasStatus(400));
  },
);

Deno.test(
  skippable("the commit of a fork gets its status by the ref of the merge request", missing("git")),
  async () => {
    await using fake = await fakeGitLab();
    const project = fake.state.projectAt(GITLAB_PROJECT);
    ok(project !== undefined);
    await addProject(fake.state, "ada/tidepool", { forkedFrom: project.id });
    const sha = await fake.git.commit("ada/tidepool", "fix", { "a.txt": "a" }, { from: "main" });
    const from = "ada/tidepool";
    await fake.mergeRequests.open(GITLAB_PROJECT, { user: ADA, branch: "fix", from });
    const at = gitLabProject(fake);
    const status = { sha, state: "success", context: "svc", description: "" } as const;
    await at.setStatus({ ...status, pull: 1 });
    deepEqual(fake.threads.statuses.map(({ sha, ref }) => [sha, ref]), [
      [sha, "refs/merge-requests/1/head"],
    ]);
    await rejects(at.setStatus(status), hasStatus(404));
  },
);
