/**
 * Approvals that are answered by a comment at GitLab. Maintainers of a project choose there what its
 * webhooks send, so an event that is signed may say anything: what counts is what GitLab shows.
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
  type GitLabUser,
} from "../fakes/gitlab.ts";
import type { GitLabNote, GitLabThread } from "../fakes/gitlab_threads.ts";
import { defined } from "../../src/base/defined.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { gitlabHeaders, SIGNING_TOKEN } from "../helpers/gitlab.ts";
import { type Manifest, secretStore } from "../helpers/manifests.ts";
import { ONE_PROGRAM, type Program, programTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { until } from "../helpers/until.ts";

const MALLORY: GitLabUser = { id: 666, username: "mallory" };
const ROBOT: GitLabUser = { id: 91, username: "deploys", bot: true };
const BOB: GitLabUser = { id: 78, username: "bob" };
const ADAS = { token: "glpat-adas-own-token", user: ADA.id };

interface Asked {
  readonly by: readonly string[];
  readonly need?: number;
}

function manifests(fake: FakeGitLab, approval: Asked): readonly Manifest[] {
  const token = { fromSecret: { store: "tidepool", key: "token" } };
  const steps = [
    { id: "ok", approval: { ask: "Deploy?", tell: ["thread"], ...approval } },
    { id: "go", run: "true", needs: ["ok"] },
  ];
  return [
    secretStore("tidepool", { token: GITLAB_TOKEN.token }),
    secretStore("gitlab", { tidepool: SIGNING_TOKEN }),
    {
      kind: "Connection",
      metadata: { name: "tidepool" },
      spec: { gitlab: { project: PROJECT, api: fake.url, token } },
    },
    ...[["ada", ADA.id], ["bob", BOB.id]].map(([name, id]) => ({
      kind: "Person",
      metadata: { name: String(name) },
      spec: { role: "read_only", is: [`gitlab:${new URL(fake.url).host}/${id}`] },
    })),
    { kind: "Workflow", metadata: { name: "deploy" }, spec: { steps } },
    {
      kind: "Trigger",
      metadata: { name: "gitlab" },
      spec: {
        event: {
          source: "webhook",
          webhook: { secret: { fromRef: "gitlab" }, scheme: "gitlab" },
          filter: { condition: 'payload.object_attributes.note == "deploy, please"' },
        },
        action: { workflow: "deploy", workspace: "default" },
      },
    },
  ];
}

/** GitLab with a question on a merge request, and an issue of the same number. */
class Site implements AsyncDisposable {
  readonly gitlab: FakeGitLab;
  readonly daemon: TestDaemon;
  readonly thread: GitLabThread;
  readonly issue: GitLabThread;

  private constructor(
    { gitlab, daemon, thread, issue }: Pick<Site, "gitlab" | "daemon" | "thread" | "issue">,
  ) {
    this.gitlab = gitlab;
    this.daemon = daemon;
    this.thread = thread;
    this.issue = issue;
  }

  static async open(program: Program, approval: Asked): Promise<Site> {
    await using opened = new AsyncDisposableStack();
    const users = [BOT, ADA, BOB, MALLORY, ROBOT];
    const tokens = [GITLAB_TOKEN, ADAS];
    const gitlab = opened.use(await fakeGitLab({ users, tokens }));
    const daemon = opened.use(await startDaemon(program));
    await daemon.apply(...manifests(gitlab, approval));
    await gitlab.git.commit(PROJECT, "fix", { "a.txt": "a" }, { from: "main" });
    const { thread } = await gitlab.mergeRequests.open(PROJECT, { user: ADA, branch: "fix" });
    const issue = gitlab.threads.openIssue(PROJECT, { author: ADA });
    opened.move();
    return new Site({ gitlab, daemon, thread, issue });
  }

  /** Starts the task, and returns the code of its question. */
  async ask(): Promise<string> {
    await this.say(ADA, "deploy, please");
    const [asked = ""] = await until(
      "the question",
      () => this.ours().length > 0 ? this.ours() : undefined,
    );
    const [, code = ""] = /^approve ([0-9a-f]{8})$/m.exec(asked) ?? [];
    ok(code !== "", asked);
    ok(!/^\u200b?\//m.test(asked), "GitLab would carry out a line with a slash");
    return code;
  }

  /** Writes a note and sends its event, which may say something else. */
  async say(
    author: GitLabUser,
    text: string,
    { thread = this.thread, system = false, internal = false, told = {} }: {
      readonly thread?: GitLabThread;
      readonly system?: boolean;
      readonly internal?: boolean;
      readonly told?: Told;
    } = {},
  ): Promise<GitLabNote> {
    const note = this.gitlab.threads.note(thread, author, text, { system, internal });
    await this.tell(note, told);
    return note;
  }

  /** Sends the signed event of a note, in which something may be other than it is. */
  async tell(
    note: Pick<GitLabNote, "id" | "author" | "body" | "thread" | "internal">,
    { author = note.author, text = note.body, thread = note.thread, action = "create" }: Told = {},
  ): Promise<void> {
    const { gitlab: { state, threads }, daemon } = this;
    const project = state.projectAt(PROJECT);
    if (project === undefined) throw new Error("The project is gone");
    const isIssue = thread.kind === "issues";
    const about = { ...threads.payloadOf(thread), target_project_id: project.id };
    const body = JSON.stringify({
      object_kind: "note",
      event_type: "note",
      user: state.shownUser(author.id),
      project: state.shownProject(project),
      object_attributes: { id: note.id, note: text, author_id: author.id, system: false, action },
      [isIssue ? "issue" : "merge_request"]: about,
    });
    const headers = gitlabHeaders(SIGNING_TOKEN, body, "Note Hook");
    const answer = await daemon.send("/webhook/gitlab", { headers, body });
    equal(answer.status, 200, answer.text);
  }

  /** Notes of svc, without what they have behind them. */
  ours(): string[] {
    return this.gitlab.threads.notes.filter(({ author }) => author.id === BOT.id)
      .map(({ body }) => body)
      .filter((body) => body.includes("<!-- svc "))
      .map((body) => body.replace(/\n\n<!-- svc \S+ \S+ [0-9a-f]{40} -->$/, ""));
  }

  /** Waits until svc has replied in the thread. */
  async replied(pattern: RegExp): Promise<void> {
    const has = () => this.ours().slice(1).some((one) => pattern.test(one));
    await until(`a reply ${pattern}`, () => has() || undefined);
  }

  async openCount(): Promise<number> {
    return (await this.daemon.json("get", "approvals") as unknown[]).length;
  }

  async [Symbol.asyncDispose]() {
    await this.daemon[Symbol.asyncDispose]();
    await this.gitlab[Symbol.asyncDispose]();
  }
}

/** What an event says in the place of what is there. */
interface Told {
  readonly author?: GitLabUser;
  readonly text?: string;
  readonly thread?: GitLabThread;
  readonly action?: string;
}

const NO_GIT = defined({ skip: missing("git") });

programTest(
  "a comment at GitLab answers as GitLab shows it, whatever its event says",
  async (program) => {
    await using site = await Site.open(program, { by: ["ada", "bob"], need: 2 });
    const { gitlab, daemon, issue } = site;
    const code = await site.ask();
    const yes = `approve ${code}`;
    const asAda = { author: ADA, text: yes };
    // The event is signed, and its author is one who may answer.
    const nowhere = { id: 999_999, author: ADA, body: yes, thread: site.thread, internal: false };
    await site.tell(nowhere);
    await site.say(ADA, yes, { thread: issue, told: { thread: site.thread } });
    await site.say(ADA, "Looks good", { told: asAda });
    await site.say(ADA, yes, { system: true });
    await site.say(ADA, yes, { internal: true });
    await site.say(ROBOT, yes, { told: asAda });
    await site.say(ROBOT, yes);
    await site.say(BOT, yes, { told: asAda });
    const edited = gitlab.threads.note(site.thread, ADA, "What is this?");
    edited.body = yes; // as a maintainer can, in the name of its author
    edited.updated_at = "2030-01-01T00:00:00.000Z";
    await site.tell(edited);
    await site.say(ADA, yes, { told: { action: "update" } });
    await site.say(ADA, yes, { thread: issue });
    await site.say(ADA, `Looks good\n${yes}`);
    await site.say(MALLORY, yes, { told: asAda });
    await site.replied(/^mallory at GitLab: mallory at GitLab is not among those who may answer/);
    await site.say(ADA, "approve 00000000");
    await site.replied(new RegExp(`its digest is ${code} now`));
    equal(await site.openCount(), 1, "nothing of that was an answer");
    equal(site.ours().length, 2, "one comment for all replies");

    const right = await site.say(ADA, `${yes} ship it`);
    for (const _ of [1, 2]) await site.tell(right);
    await until("the last look", async () => {
      const audit = JSON.stringify(await daemon.json("get", "control-audits"));
      return audit.split(`approved ${code} gitlab`).length > 4 || undefined;
    });
    const [question] = await daemon.json("get", "approvals") as { answers: { by: string }[] }[];
    deepEqual(question?.answers.map(({ by }) => by), ["ada at GitLab"], "one answer, told thrice");
    await site.say(BOB, yes);
    const [task] = await daemon.settled();
    deepEqual([task?.state, (await daemon.tasks()).length], ["succeeded", 1]);
    const over = /^\*\*approved by ada at GitLab and bob at GitLab\*\*/;
    await until(
      "the question that is over",
      () => over.test(site.ours()[0] ?? "") || undefined,
    );
  },
  NO_GIT,
);

programTest(
  "who may write at GitLab answers if GitLab says so now, and no reply is no answer",
  async () => {
    await using site = await Site.open(ONE_PROGRAM, { by: ["gitlab:write"] });
    const { gitlab, daemon } = site;
    const code = await site.ask();
    await site.say(MALLORY, `approve ${code}`, { told: { author: ADA } });
    await site.replied(/^mallory at GitLab: .* is not among those who may answer: gitlab:write/);
    let fails = /\/notes\/[0-9]+$/;
    gitlab.interfere = ({ method, path }) =>
      method === "GET" && fails.test(path)
        ? Response.json({ message: "away" }, { status: 502 })
        : undefined;
    const note = await site.say(ADA, `approve ${code}`);
    await site.replied(
      /^A comment could not be read at GitLab, so it did not count: write it again/,
    );
    fails = /\/members\/all\//;
    await site.tell(note);
    await site.replied(/^ada at GitLab: .* is not among those who may answer/);
    fails = /\/users\//;
    await site.tell(note);
    await site.replied(/^A comment could not be read/);
    equal(await site.openCount(), 1);
    gitlab.interfere = undefined;
    await site.tell(note);
    const [task] = await daemon.settled();
    equal(task?.state, "succeeded");
  },
  NO_GIT,
);

programTest("the line that a question at GitLab shows is no command of GitLab", async () => {
  await using site = await Site.open(ONE_PROGRAM, { by: ["ada"] });
  const code = await site.ask();
  const { gitlab, daemon, thread } = site;
  const post = (body: string) =>
    fetch(
      `${gitlab.url}/projects/${encodeURIComponent(PROJECT)}/merge_requests/${thread.iid}/notes`,
      {
        method: "POST",
        headers: { "private-token": ADAS.token, "content-type": "application/json" },
        body: JSON.stringify({ body }),
      },
    );
  const command = await post(`/approve ${code}`);
  equal(command.status, 202, "GitLab takes it for its own, and makes no comment");
  await command.body?.cancel();
  match(gitlab.threads.executed.at(-1)?.line ?? "", /^\/approve/);
  const answer = await post(`approve ${code}`);
  equal(answer.status, 201);
  const { id } = await answer.json();
  const note = gitlab.threads.notes.find((one) => one.id === id);
  ok(note !== undefined);
  await site.tell(note);
  equal((await daemon.settled())[0]?.state, "succeeded");
}, NO_GIT);
