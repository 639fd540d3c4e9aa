/**
 * Where an approval is asked and answered outside of svc: a fake Slack and a fake GitHub that a daemon is
 * connected to, and what people do there.
 *
 * @module
 */

import { ok, strictEqual as equal } from "node:assert/strict";
import { type FakeGitHub, TOKEN } from "../fakes/github.ts";
import type { FakeComment } from "../fakes/github_issues.ts";
import { BOT_TOKEN, type FakeSlack } from "../fakes/slack.ts";
import type { TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { type Manifest, secretStore } from "../helpers/manifests.ts";
import { SLACK_SECRET, slackHeaders, slackMessage } from "../helpers/slack.ts";
import { until } from "../helpers/until.ts";

export const ADA: Manifest = {
  kind: "Person",
  metadata: { name: "ada" },
  spec: { role: "read_only", is: ["slack:T0001/U0ADA"] },
};

/** A user has a number at one server. */
export const adaAt = (fake: FakeGitHub): Manifest => ({
  ...ADA,
  spec: { role: "read_only", is: [`github:${new URL(fake.url).host}/7`] },
});

export const EVE: Manifest = {
  kind: "Person",
  metadata: { name: "eve" },
  spec: { role: "read_only", is: ["github:7"] },
};

export function asking(approval: Record<string, unknown> = {}): Manifest {
  const asked = { ask: "Deploy {{ trigger.name }}?", by: ["ada"], tell: ["thread"], ...approval };
  const steps = [
    { id: "ok", approval: asked },
    { id: "go", run: "true", needs: ["ok"] },
  ];
  return { kind: "Workflow", metadata: { name: "deploy" }, spec: { steps } };
}

export function fromSlack(slack: FakeSlack): Manifest[] {
  const botToken = { fromSecret: { store: "slack", key: "bot" } };
  return [
    secretStore("slack", { signing_secret: SLACK_SECRET, bot: BOT_TOKEN.token }),
    secretStore("foreign", { signing_secret: "another-secret-of-another-app" }),
    {
      kind: "Connection",
      metadata: { name: "chat" },
      spec: { slack: { api: slack.url, endpoint: "talk", botToken } },
    },
    trigger("talk", { scheme: "slack", secret: { fromRef: "slack" }, connection: "chat" }),
  ];
}

function trigger(name: string, webhook: Record<string, unknown>): Manifest {
  return {
    kind: "Trigger",
    metadata: { name },
    spec: {
      event: { source: "webhook", webhook },
      action: { workflow: "deploy", workspace: "default" },
    },
  };
}

/** Says something in Slack, which starts a task, and waits for its question; `nth` counts questions. */
export async function askedInSlack(daemon: TestDaemon, slack: FakeSlack, nth = 1) {
  const body = slackMessage({ text: "deploy", ts: `170000000${nth}.000100` });
  await daemon.send("/source/slack/default/talk", { headers: slackHeaders(body), body });
  return await questionOf(slack, nth);
}

export const postsOf = (slack: FakeSlack) =>
  slack.calls.filter(({ method }) => method === "chat.postMessage");

/** The buttons of a question, and where it stands. */
export async function questionOf(slack: FakeSlack, nth: number) {
  const post = await until("the question", () => postsOf(slack)[nth - 1]);
  const blocks = post.body["blocks"] as { type: string; elements?: Record<string, unknown>[] }[];
  const buttons = blocks.find(({ type }) => type === "actions")?.elements ?? [];
  const ts = `1700000100.${String(nth).padStart(6, "0")}`;
  return { approve: buttons[0] ?? {}, reject: buttons[1] ?? {}, channel: "C0001", ts };
}

export interface ClickOptions {
  readonly user?: string;
  readonly secret?: string;
  readonly channel?: string;
  readonly ts?: string;
  readonly time?: string;
}

export function clickBody(
  button: Record<string, unknown>,
  at: { readonly channel: string; readonly ts: string },
  { user = "U0ADA", channel = at.channel, ts = at.ts }: ClickOptions = {},
): string {
  const payload = {
    type: "block_actions",
    user: { id: user, username: user.toLowerCase(), team_id: "T0001" },
    api_app_id: "A0001",
    team: { id: "T0001" },
    channel: { id: channel },
    container: { type: "message", message_ts: ts, channel_id: channel },
    actions: [{ ...button, action_ts: String(Math.random()) }],
  };
  return new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
}

export async function click(daemon: TestDaemon, body: string, options: ClickOptions = {}) {
  const type = "application/x-www-form-urlencoded";
  const { secret, time } = options;
  const headers = slackHeaders(body, {
    type,
    ...secret === undefined ? {} : { secret },
    ...time === undefined ? {} : { time },
  });
  return (await daemon.send("/source/slack/default/talk", { headers, body })).status;
}

export const notes = (slack: FakeSlack) =>
  slack.calls.filter(({ method }) => method === "chat.postEphemeral")
    .map(({ body }) => `${body["user"]}: ${body["text"]}`);

export async function routed(daemon: TestDaemon, count: number) {
  await until(`${count} routed events`, async () => {
    const all = await daemon.json("get", "source-events") as { state: string }[];
    return all.filter(({ state }) => state === "routed").length >= count || undefined;
  });
}

export const openCount = async (daemon: TestDaemon) =>
  (await daemon.json("get", "approvals") as unknown[]).length;

const REPOSITORY = "brightwater/tidepool";

const SECRET = "the-secret-of-the-hook";

export const ANOTHER_SECRET = "the-secret-of-a-hook-at-another-server";

export const MONA = { login: "mona", id: 7, type: "User" };

export function fromGitHub(fake: FakeGitHub): Manifest[] {
  const token = { fromSecret: { store: "tidepool", key: "token" } };
  const github = { repository: REPOSITORY, api: fake.url, token };
  const filtered = trigger("review", { secret: { fromRef: "github" }, scheme: "github" });
  const { event } = filtered.spec as { event: Record<string, unknown> };
  return [
    secretStore("tidepool", { token: TOKEN.token }),
    // The name of its Connection: what it signs comes from there.
    secretStore("github", { tidepool: SECRET, another: ANOTHER_SECRET }),
    { kind: "Connection", metadata: { name: "tidepool" }, spec: { github } },
    {
      ...filtered,
      spec: {
        ...filtered.spec,
        event: { ...event, filter: { condition: 'payload.comment.body == "/deploy"' } },
      },
    },
  ];
}

let commented = 100;

/** What stands at the forge where its event says something else; `none` if nothing does. */
export type Written = Partial<Pick<FakeComment, "user" | "issue" | "body" | "updated_at">> | "none";

export interface CommentOptions {
  readonly user?: typeof MONA;
  readonly issue?: number;
  readonly action?: string;
  readonly secret?: string;
  readonly written?: Written;
  /** Id of a comment that is there, of which GitHub tells once more. */
  readonly id?: number;
}

export async function comment(
  daemon: TestDaemon,
  fake: FakeGitHub,
  body: string,
  { user = MONA, issue = 7, action = "created", secret = SECRET, written = {}, ...one }:
    CommentOptions = {},
) {
  const id = one.id ?? ++commented;
  const at = new Date().toISOString();
  const is = { repository: REPOSITORY, issue, user, body, created_at: at, updated_at: at };
  if (written !== "none" && one.id === undefined) {
    fake.issues.comments.push({ ...is, id, ...written });
  }
  const payload = JSON.stringify({
    action,
    repository: { full_name: REPOSITORY, html_url: `https://github.com/${REPOSITORY}` },
    issue: { number: issue, pull_request: {} },
    comment: { id, user, body, performed_via_github_app: null },
    sender: user,
  });
  const headers = githubHeaders(secret, payload, "issue_comment");
  return (await daemon.send("/webhook/review", { headers, body: payload })).status;
}

/** Comments of svc at the forge, without what they have behind them. */
export const ours = (fake: FakeGitHub) =>
  fake.issues.comments.filter(({ user, body }) =>
    user.id === TOKEN.id && body.includes("<!-- svc ")
  )
    .map(({ body }) => body.replace(/\n\n<!-- svc \S+ \S+ [0-9a-f]{40} -->$/, ""));

export function withIssue(fake: FakeGitHub): FakeGitHub {
  const pull = { sha: "a".repeat(40), commits: ["a".repeat(40)] };
  const shared = { repository: REPOSITORY, title: "t", body: "", user: MONA };
  fake.issues.issues.push({ ...shared, number: 7, pull }, { ...shared, number: 8 });
  return fake;
}

export async function askedAtGitHub(daemon: TestDaemon, fake: FakeGitHub): Promise<string> {
  equal(await comment(daemon, fake, "/deploy", { written: "none" }), 200);
  const [asked = ""] = await until(
    "the question",
    () => ours(fake).length > 0 ? ours(fake) : undefined,
  );
  const [, code = ""] = /^\u200b\/approve ([0-9a-f]{8})$/m.exec(asked) ?? [];
  ok(code !== "", asked);
  return code;
}
