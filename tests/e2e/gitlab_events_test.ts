/**
 * Events of GitLab from outside: a signed note of somebody who may write starts a task, its answers go
 * to what it is about, and nothing that svc does there starts another task.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import {
  ADA,
  BOT,
  type FakeGitLab,
  fakeGitLab,
  GITLAB_PROJECT as PROJECT,
  GITLAB_TOKEN,
} from "../fakes/gitlab.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { gitlabHeaders, SIGNING_TOKEN } from "../helpers/gitlab.ts";
import { type Manifest, secretStore } from "../helpers/manifests.ts";
import { ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { type TempDir, tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { git } from "../rigs/git_repository.ts";

const GUEST = { id: 10, username: "gast" };
/** Somebody without any role there. */
const MALLORY = { id: 666, username: "mallory" };

/** A trigger on the endpoint that gets all events of the project. */
function trigger(name: string, more: Record<string, unknown>): Manifest {
  const { condition, from, ...spec } = more;
  return {
    kind: "Trigger",
    metadata: { name },
    spec: {
      event: {
        source: "webhook",
        webhook: {
          endpoint: "gitlab",
          secret: { fromRef: "gitlab" },
          signatureHeader: "X-Gitlab-Token",
          ...from === undefined ? {} : { from },
        },
        ...condition === undefined ? {} : { filter: { condition } },
      },
      action: { workflow: name, workspace: "default" },
      ...spec,
    },
  };
}

function workflow(name: string, run: string, may?: unknown): Manifest {
  return {
    kind: "Workflow",
    metadata: { name },
    spec: { ...may === undefined ? {} : { may }, steps: [{ id: "s1", run }] },
  };
}

/** `fix` takes notes of those who may write; `watch` takes everything. */
function manifests(api: string, workspace: string): readonly Manifest[] {
  const token = { fromSecret: { store: "tidepool", key: "token" } };
  const fix = 'printf "fixed\\n" >file; printf "text=It is fixed, @ada\\n/merge" >>"$SVC_OUTPUT"';
  return [
    {
      kind: "Workspace",
      metadata: { name: "default" },
      spec: { path: workspace, isolation: "worktree" },
    },
    secretStore("tidepool", { token: GITLAB_TOKEN.token }),
    secretStore("gitlab", { secret: SIGNING_TOKEN }),
    {
      kind: "Connection",
      metadata: { name: "tidepool" },
      spec: { gitlab: { project: PROJECT, api, token } },
    },
    workflow("fix", fix, { gitlab: { pull: {}, comment: {}, status: {}, react: {} } }),
    workflow("watch", "true"),
    trigger("fix", {
      condition: 'payload.object_kind == "note" && ' +
        'payload.object_attributes.note.startsWith("/svc fix")',
      from: { permission: "write" },
      report: {
        gitlab: {
          react: true,
          status: "svc/fix",
          comment: "{{ steps.s1.outputs.text }}",
          pull: { title: "Fix it", body: "As asked", all: true },
        },
      },
    }),
    trigger("watch", {}),
  ];
}

/** GitLab, a daemon, and the webhook between them. */
class Site implements AsyncDisposable {
  readonly gitlab: FakeGitLab;
  readonly daemon: TestDaemon;
  readonly #home: TempDir;
  /** Requests of the webhook that are on their way. */
  readonly #sending = new Set<Promise<void>>();

  constructor(gitlab: FakeGitLab, daemon: TestDaemon, home: TempDir) {
    this.gitlab = gitlab;
    this.daemon = daemon;
    this.#home = home;
    gitlab.state.listeners.push(({ event, payload }) => {
      const sending: Promise<void> = this.#send(event, JSON.stringify(payload))
        .finally(() => this.#sending.delete(sending));
      this.#sending.add(sending);
    });
  }

  async #send(event: string, body: string): Promise<void> {
    const headers = gitlabHeaders(SIGNING_TOKEN, body, event);
    const answer = await this.daemon.send("/webhook/gitlab", { headers, body });
    equal(answer.status, 200, `${event}: ${answer.text}`);
  }

  /** Waits until nothing is on its way, neither events nor tasks nor answers. */
  async quiet(): Promise<void> {
    await until("quiet", async () => {
      await Promise.all(this.#sending);
      await this.daemon.settled();
      const waiting = await this.daemon.json("get", "outbox", "--state", "pending") as unknown[];
      return this.#sending.size === 0 && waiting.length === 0 || undefined;
    });
  }

  /** The deliveries of a trigger, without those that its condition has turned away. */
  async deliveries(name: string): Promise<readonly Record<string, string>[]> {
    const all = await this.daemon.json("get", "deliveries", "--trigger", name);
    return (all as Record<string, string>[]).filter(({ outcome }) => outcome !== "filtered");
  }

  /** States of the tasks of a trigger with their reasons, the oldest first. */
  async tasks(name: string): Promise<string[]> {
    const all = await this.daemon.json("get", "tasks", "--trigger", name);
    return (all as { state: string; reason: string }[])
      .map(({ state, reason }) => `${state} ${reason}`.trim()).toReversed();
  }

  async [Symbol.asyncDispose]() {
    await Promise.all(this.#sending);
    await this.daemon[Symbol.asyncDispose]();
    await this.gitlab[Symbol.asyncDispose]();
    await this.#home[Symbol.asyncDispose]();
  }
}

async function setUp(): Promise<Site> {
  const gitlab = await fakeGitLab({
    users: [BOT, ADA, GUEST, MALLORY],
    members: { [PROJECT]: { [BOT.id]: 40, [ADA.id]: 30, [GUEST.id]: 10 } },
  });
  const home = await tempDir();
  const clone = `${home.path}/clone`;
  await git(home.path, "clone", "--quiet", gitlab.git.directory(PROJECT), clone);
  const daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(...manifests(gitlab.url, clone));
  return new Site(gitlab, daemon, home);
}

const test: typeof programTest = (name, body, options = {}) =>
  programTest(name, body, { ...options, skip: missing("git") ?? options.skip });

test("a note of a developer starts a task, and svc's own events start nothing", async (_, t) => {
  await using site = await setUp();
  const { gitlab } = site;

  await t.step("on an issue: a reaction, a comment, and a merge request", async () => {
    const issue = gitlab.threads.openIssue(PROJECT, { author: ADA });
    const asked = gitlab.threads.note(issue, ADA, "/svc fix the gauge");
    await site.quiet();
    deepEqual(await site.tasks("fix"), ["succeeded"]);
    const to = `issues/${issue.iid}/notes/${asked.id}`;
    deepEqual(gitlab.threads.awards.map((one) => [one.to, one.name]), [[to, "eyes"], [
      to,
      "rocket",
    ]]);
    const [said, ...more] = gitlab.threads.notes.filter(({ author }) => author.id === BOT.id);
    equal(said?.thread, issue);
    match(said?.body ?? "", /^It is fixed, @\u200bada\n/);
    equal(more.length, 0);
    const [made] = gitlab.mergeRequests.all;
    match(made?.thread.title ?? "", /^Draft: .*Fix it$/);
    equal(await gitlab.git.run(PROJECT, "show", `${made?.sha}:file`), "fixed");
    deepEqual(gitlab.threads.executed, [], "no quick action ran with svc's rights");
  });

  await t.step("on a merge request: a status of its commit as well", async () => {
    await gitlab.git.commit(PROJECT, "topic", { other: "more\n" });
    const one = await gitlab.mergeRequests.open(PROJECT, { user: ADA, branch: "topic" });
    gitlab.threads.note(one.thread, ADA, "/svc fix this too");
    await site.quiet();
    deepEqual(gitlab.threads.statuses.map(({ sha, name, status }) => [sha, name, status]), [
      [one.sha, "svc/fix", "success"],
    ]);
    const said = gitlab.threads.notes.filter(({ author, thread }) =>
      author.id === BOT.id && thread === one.thread
    );
    equal(said.length, 1);
  });

  await t.step("what svc did came back as events, and each was skipped", async () => {
    const seen = await site.deliveries("watch");
    const skipped = seen.filter(({ outcome }) => outcome === "skipped");
    const kinds = new Set(skipped.map(({ reason }) => /svc's own (\w+)/.exec(reason ?? "")?.[1]));
    deepEqual(kinds, new Set(["reaction", "comment", "commit", "merge", "status"]));
    const started = seen.length - skipped.length;
    equal(started, 4, "an issue, a merge request and two notes of Ada's");
  });

  await t.step("with a new token of another user, too", async () => {
    const [token, user] = ["glpat-next0123456789", { id: 4343, username: "svc-next" }];
    gitlab.state.users.set(user.id, user);
    gitlab.state.addMember(PROJECT, user.id, { access_level: 40 });
    gitlab.tokens.splice(0, 1, { token, user: user.id });
    await site.daemon.apply(secretStore("tidepool", { token }));
    const before = (await site.deliveries("watch")).length;
    gitlab.threads.note(gitlab.threads.openIssue(PROJECT, { author: ADA }), ADA, "/svc fix");
    await site.quiet();
    equal(gitlab.threads.notes.at(-1)?.author.id, user.id);
    const news = (await site.deliveries("watch")).slice(0, -before);
    equal(news.filter(({ outcome }) => outcome !== "skipped").length, 2, "Ada's issue and note");
  });
});

test("who may not write starts nothing, with a copied marker neither", async () => {
  await using site = await setUp();
  const { gitlab } = site;
  const issue = gitlab.threads.openIssue(PROJECT, { author: ADA });
  gitlab.threads.note(issue, ADA, "/svc fix it");
  await site.quiet();
  const said = gitlab.threads.notes.find(({ author }) => author.id === BOT.id)?.body ?? "";
  ok(said.includes("<!-- svc "));
  const before = gitlab.threads.notes.length;
  gitlab.threads.note(issue, GUEST, "/svc fix it for me");
  gitlab.threads.note(issue, MALLORY, `/svc fix\n\n${said}`);
  await site.quiet();
  const [first, ...others] = await site.tasks("fix");
  equal(first, "succeeded");
  equal(others.length, 2);
  for (const [at, name] of [GUEST.username, MALLORY.username].entries()) {
    match(others[at] ?? "", new RegExp(`^cancelled not started, as .*${name} may not write to`));
  }
  equal(gitlab.threads.notes.length, before + 2, "no answer");
  equal(gitlab.threads.awards.length, 2, "no reaction but the two to Ada's note");
});

test("to an internal note svc only reacts", async () => {
  await using site = await setUp();
  const { gitlab } = site;
  const issue = gitlab.threads.openIssue(PROJECT, { author: ADA });
  gitlab.threads.note(issue, ADA, "/svc fix in secret", { internal: true });
  await site.quiet();
  deepEqual(await site.tasks("fix"), ["succeeded"]);
  equal(gitlab.threads.notes.filter(({ author }) => author.id === BOT.id).length, 0);
  equal(gitlab.threads.awards.length, 2);
});

test("the plain token of a webhook is no signature, so nothing starts", async () => {
  await using site = await setUp();
  const { gitlab, daemon } = site;
  await daemon.apply(secretStore("gitlab", { secret: "plain-token-of-the-webhook" }));
  gitlab.state.listeners.length = 0;
  gitlab.state.listeners.push(({ event, payload }) => {
    const headers = {
      "content-type": "application/json",
      "x-gitlab-event": event,
      "x-gitlab-token": "plain-token-of-the-webhook",
    };
    sent.push(daemon.send("/webhook/gitlab", { headers, body: JSON.stringify(payload) }));
  });
  const sent: Promise<{ status: number }>[] = [];
  gitlab.threads.note(gitlab.threads.openIssue(PROJECT, { author: ADA }), ADA, "/svc fix it");
  deepEqual((await Promise.all(sent)).map(({ status }) => status), [200, 200]);
  await site.quiet();
  const [task] = await site.tasks("fix");
  match(task ?? "", /^cancelled .*No signature covers the payload/);
});

test("what the webhook of one project signs about another starts nothing", async () => {
  await using site = await setUp();
  const { gitlab, daemon } = site;
  const other = `whsec_${btoa("thirty-two bytes of another key!")}`;
  await daemon.apply(
    {
      kind: "Connection",
      metadata: { name: "theirs" },
      spec: {
        gitlab: {
          project: "mallory/theirs",
          api: gitlab.url,
          token: { fromSecret: { store: "tidepool", key: "token" } },
        },
      },
    },
    secretStore("gitlab", { tidepool: SIGNING_TOKEN, theirs: other }),
  );
  gitlab.state.listeners.unshift(({ event, payload }) => {
    const body = JSON.stringify(payload);
    const headers = gitlabHeaders(other, body, event);
    sent.push(daemon.send("/webhook/gitlab", { headers, body }));
  });
  const sent: Promise<{ status: number }>[] = [];
  gitlab.threads.note(gitlab.threads.openIssue(PROJECT, { author: ADA }), ADA, "/svc fix it");
  deepEqual((await Promise.all(sent)).map(({ status }) => status), [200, 200]);
  await site.quiet();
  await Promise.all(sent);
  deepEqual(await site.tasks("fix"), ["succeeded"], "what the project's own webhook has sent");
  const why = /the key of Connection "theirs" verified it, which is to mallory\/theirs/;
  const refused = (await site.deliveries("watch")).filter(({ reason = "" }) => why.test(reason));
  equal(refused.length, sent.length);
  equal(refused.every(({ outcome }) => outcome === "skipped"), true);
});
