/**
 * Where an approval is asked and answered at GitLab: a fake GitLab with a merge request and an issue of the
 * same number, a daemon that is connected to it, and what people do there.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
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
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { gitlabHeaders, SIGNING_TOKEN } from "../helpers/gitlab.ts";
import { type Manifest, secretStore } from "../helpers/manifests.ts";
import type { Program } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

export const MALLORY: GitLabUser = { id: 666, username: "mallory" };
export const ROBOT: GitLabUser = { id: 91, username: "deploys", bot: true };
export const BOB: GitLabUser = { id: 78, username: "bob" };
export const ADAS = { token: "glpat-adas-own-token", user: ADA.id };

/** How a question is asked, in its manifest. */
export interface Asked extends Record<string, unknown> {
  readonly by: readonly string[];
  readonly need?: number;
  readonly tell?: readonly unknown[];
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
export class Site implements AsyncDisposable {
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

  static async open(
    program: Program,
    approval: Asked,
    others: readonly GitLabUser[] = [],
  ): Promise<Site> {
    await using opened = new AsyncDisposableStack();
    const users = [BOT, ADA, BOB, MALLORY, ROBOT, ...others];
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
