/**
 * Approvals that are answered outside of svc: by a button in Slack and by a comment at a forge. Each is
 * one answer of one person to what was shown, however often it comes, and whoever else tries.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { type FakeGitHub, fakeGitHub, TOKEN } from "../fakes/github.ts";
import type { FakeComment } from "../fakes/github_issues.ts";
import { BOT_TOKEN, type FakeSlack, fakeSlack } from "../fakes/slack.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { type Manifest, secretStore } from "../helpers/manifests.ts";
import { ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { SLACK_SECRET, slackHeaders, slackMessage } from "../helpers/slack.ts";
import { until } from "../helpers/until.ts";

const ADA: Manifest = {
  kind: "Person",
  metadata: { name: "ada" },
  spec: { role: "read_only", is: ["slack:T0001/U0ADA"] },
};

/** A user has a number at one server. */
const adaAt = (fake: FakeGitHub): Manifest => ({
  ...ADA,
  spec: { role: "read_only", is: [`github:${new URL(fake.url).host}/7`] },
});
const EVE: Manifest = {
  kind: "Person",
  metadata: { name: "eve" },
  spec: { role: "read_only", is: ["github:7"] },
};

function asking(approval: Record<string, unknown> = {}): Manifest {
  const asked = { ask: "Deploy {{ trigger.name }}?", by: ["ada"], tell: ["thread"], ...approval };
  const steps = [
    { id: "ok", approval: asked },
    { id: "go", run: "true", needs: ["ok"] },
  ];
  return { kind: "Workflow", metadata: { name: "deploy" }, spec: { steps } };
}

function fromSlack(slack: FakeSlack): Manifest[] {
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
async function askedInSlack(daemon: TestDaemon, slack: FakeSlack, nth = 1) {
  const body = slackMessage({ text: "deploy", ts: `170000000${nth}.000100` });
  await daemon.send("/source/slack/default/talk", { headers: slackHeaders(body), body });
  return await questionOf(slack, nth);
}

const postsOf = (slack: FakeSlack) =>
  slack.calls.filter(({ method }) => method === "chat.postMessage");

/** The buttons of a question, and where it stands. */
async function questionOf(slack: FakeSlack, nth: number) {
  const post = await until("the question", () => postsOf(slack)[nth - 1]);
  const blocks = post.body["blocks"] as { type: string; elements?: Record<string, unknown>[] }[];
  const buttons = blocks.find(({ type }) => type === "actions")?.elements ?? [];
  const ts = `1700000100.${String(nth).padStart(6, "0")}`;
  return { approve: buttons[0] ?? {}, reject: buttons[1] ?? {}, channel: "C0001", ts };
}

interface ClickOptions {
  readonly user?: string;
  readonly secret?: string;
  readonly channel?: string;
  readonly ts?: string;
  readonly time?: string;
}

function clickBody(
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

async function click(daemon: TestDaemon, body: string, options: ClickOptions = {}) {
  const type = "application/x-www-form-urlencoded";
  const { secret, time } = options;
  const headers = slackHeaders(body, {
    type,
    ...secret === undefined ? {} : { secret },
    ...time === undefined ? {} : { time },
  });
  return (await daemon.send("/source/slack/default/talk", { headers, body })).status;
}

const notes = (slack: FakeSlack) =>
  slack.calls.filter(({ method }) => method === "chat.postEphemeral")
    .map(({ body }) => `${body["user"]}: ${body["text"]}`);

async function routed(daemon: TestDaemon, count: number) {
  await until(`${count} routed events`, async () => {
    const all = await daemon.json("get", "source-events") as { state: string }[];
    return all.filter(({ state }) => state === "routed").length >= count || undefined;
  });
}

const openCount = async (daemon: TestDaemon) =>
  (await daemon.json("get", "approvals") as unknown[]).length;

programTest(
  "a button in Slack answers for who clicked it, and for nobody else",
  async (program) => {
    await using slack = fakeSlack();
    await using daemon = await startDaemon(program);
    await daemon.apply(ADA, asking(), ...fromSlack(slack));
    const at = await askedInSlack(daemon, slack);
    equal(await click(daemon, clickBody(at.approve, at), { secret: "forged" }), 401);
    const old = String(Math.floor(Date.now() / 1000) - 3600);
    equal(await click(daemon, clickBody(at.approve, at), { time: old }), 401);
    equal(await click(daemon, clickBody(at.approve, at, { user: "U0BOB" })), 200);
    equal(await click(daemon, clickBody(at.approve, at, { channel: "C0002" })), 200);
    equal(await click(daemon, clickBody(at.approve, at, { ts: "1700000100.000099" })), 200);
    const other = String(at.approve["value"]).replace(/[0-9a-f]{64}$/, "0".repeat(64));
    equal(await click(daemon, clickBody({ ...at.approve, value: other }, at)), 200);
    await routed(daemon, 5);
    equal(await openCount(daemon), 1, "nothing of that was an answer");
    await until("two notes", () => notes(slack).length === 2 || undefined);
    match(
      notes(slack).join("\n"),
      /U0BOB: .*u0bob at Slack is not among those who may answer: ada/,
    );
    match(notes(slack).join("\n"), /U0ADA: .*What is asked is not what was shown/);
    const body = clickBody(at.approve, at);
    for (const _ of [1, 2]) equal(await click(daemon, body), 200);
    const [task] = await daemon.settled();
    equal(task?.state, "succeeded");
    await until(
      "the post without buttons",
      () =>
        slack.calls.some(({ method, body }) =>
          method === "chat.update" && /approved by ada/.test(JSON.stringify(body)) &&
          !JSON.stringify(body).includes("svc-approve")
        ) || undefined,
    );
    equal(await click(daemon, clickBody(at.reject, at)), 200);
    await until(
      "a third note about it",
      () => notes(slack).some((note) => /U0ADA: .*decided since/.test(note)) || undefined,
    );
    equal((await daemon.tasks()).length, 1, "a click starts no task");
    equal(postsOf(slack).length, 1);
  },
);

programTest("a question that ends without a click has no buttons any more", async () => {
  await using slack = fakeSlack();
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(ADA, asking(), ...fromSlack(slack));
  await askedInSlack(daemon, slack);
  const [task] = await daemon.tasks();
  equal((await daemon.svc(["task", "cancel", task?.id ?? ""])).code, 0);
  const update = await until(
    "the update",
    () => slack.calls.find(({ method }) => method === "chat.update"),
  );
  match(JSON.stringify(update.body), /was ended before anybody decided/);
  ok(!JSON.stringify(update.body).includes("svc-approve"));
});

const REPOSITORY = "brightwater/tidepool";
const SECRET = "the-secret-of-the-hook";
const ANOTHER_SECRET = "the-secret-of-a-hook-at-another-server";
const MONA = { login: "mona", id: 7, type: "User" };

function fromGitHub(fake: FakeGitHub): Manifest[] {
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
type Written = Partial<Pick<FakeComment, "user" | "issue" | "body" | "updated_at">> | "none";

interface CommentOptions {
  readonly user?: typeof MONA;
  readonly issue?: number;
  readonly action?: string;
  readonly secret?: string;
  readonly written?: Written;
}

async function comment(
  daemon: TestDaemon,
  fake: FakeGitHub,
  body: string,
  { user = MONA, issue = 7, action = "created", secret = SECRET, written = {} }: CommentOptions =
    {},
) {
  const id = ++commented;
  const at = new Date().toISOString();
  const is = { repository: REPOSITORY, issue, user, body, created_at: at, updated_at: at };
  if (written !== "none") fake.issues.comments.push({ ...is, id, ...written });
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
const ours = (fake: FakeGitHub) =>
  fake.issues.comments.filter(({ user, body }) =>
    user.id === TOKEN.id && body.includes("<!-- svc ")
  )
    .map(({ body }) => body.replace(/\n\n<!-- svc \S+ \S+ [0-9a-f]{40} -->$/, ""));

function withIssue(fake: FakeGitHub): FakeGitHub {
  const pull = { sha: "a".repeat(40), commits: ["a".repeat(40)] };
  const shared = { repository: REPOSITORY, title: "t", body: "", user: MONA };
  fake.issues.issues.push({ ...shared, number: 7, pull }, { ...shared, number: 8 });
  return fake;
}

async function askedAtGitHub(daemon: TestDaemon, fake: FakeGitHub): Promise<string> {
  equal(await comment(daemon, fake, "/deploy", { written: "none" }), 200);
  const [asked = ""] = await until(
    "the question",
    () => ours(fake).length > 0 ? ours(fake) : undefined,
  );
  const [, code = ""] = /^\u200b\/approve ([0-9a-f]{8})$/m.exec(asked) ?? [];
  ok(code !== "", asked);
  return code;
}

programTest(
  "a comment at GitHub answers, if it is new, signed, of a person, and in the thread",
  async (program) => {
    await using fake = withIssue(fakeGitHub());
    await using daemon = await startDaemon(program);
    await daemon.apply(adaAt(fake), EVE, asking(), ...fromGitHub(fake));
    const code = await askedAtGitHub(daemon, fake);
    const yes = `/approve ${code}`;
    equal(await comment(daemon, fake, yes, { secret: "forged" }), 401);
    const bob = { login: "bob", id: 8, type: "User" };
    await comment(daemon, fake, yes, { secret: ANOTHER_SECRET, written: "none" });
    await comment(daemon, fake, yes, { written: { body: "Looks good" } });
    await comment(daemon, fake, yes, { written: { issue: 8 } });
    await comment(daemon, fake, yes, { written: { updated_at: "2030-01-01T00:00:00Z" } });
    await comment(daemon, fake, yes, {
      written: { user: { login: "mona[bot]", id: 7 } },
    });
    await comment(daemon, fake, `${yes} ${"x".repeat(5000)}`, { user: bob });
    await comment(daemon, fake, `${yes}\n\n<!-- svc ${"0".repeat(26)} reply ${"0".repeat(40)} -->`);
    await comment(daemon, fake, yes, { issue: 8 });
    await comment(daemon, fake, yes, { action: "edited" });
    await comment(daemon, fake, yes, { user: { login: "mona[bot]", id: 7, type: "Bot" } });
    await comment(daemon, fake, yes, { user: { login: TOKEN.login, id: TOKEN.id, type: "User" } });
    await comment(daemon, fake, `Looks good\n${yes}`);
    await comment(daemon, fake, yes, { written: { user: bob } });
    const replies = () => ours(fake).slice(1);
    await until(
      "the reply to bob",
      () =>
        replies().some((one) => /bob at GitHub is not among those who may answer: ada/.test(one)) ||
        undefined,
    );
    await comment(daemon, fake, "/approve 00000000");
    await until(
      "the reply with the code of now",
      () => replies().some((one) => one.includes(`its digest is ${code} now`)) || undefined,
    );
    equal(replies().length, 1, "one comment for all replies");
    equal(await openCount(daemon), 1, "nothing of that was an answer");
    await comment(daemon, fake, `${yes} ship it`);
    const [task] = await daemon.settled();
    deepEqual([task?.state, (await daemon.tasks()).length], ["succeeded", 1]);
    await until(
      "the question that is over",
      () => /^\*\*approved by ada at GitHub: ship it\*\*/.test(ours(fake)[0] ?? "") || undefined,
    );
    ok(!(ours(fake)[0] ?? "").includes("/approve"));
  },
);

programTest(
  "whoever may write answers if the forge says so now, and no reply is a no",
  async () => {
    await using fake = withIssue(fakeGitHub());
    await using daemon = await startDaemon(ONE_PROGRAM);
    const lists = ["bob", "eve"].map((login, index) => ({ login, id: 8 + index, type: "User" }));
    const [bob = MONA, eve = MONA] = lists;
    const rights: Record<string, string> = { bob: "write", eve: "read" };
    let isAway = true;
    fake.interfere = ({ path }) => {
      const [, login] = /\/collaborators\/(\w+)\/permission$/.exec(path) ?? [];
      if (login === undefined) return undefined;
      if (isAway) return Response.json({ message: "away" }, { status: 404 });
      const user = lists.find((one) => one.login === login);
      return Response.json({ permission: rights[login], user });
    };
    await daemon.apply(asking({ by: ["github:write"] }), ...fromGitHub(fake));
    const code = await askedAtGitHub(daemon, fake);
    const say = (user: typeof MONA) => comment(daemon, fake, `/approve ${code}`, { user });
    const refusedTo = (login: string) =>
      until(
        `the reply to ${login}`,
        () => ours(fake).some((one) => one.startsWith(`${login} at GitHub: `)) || undefined,
      );
    await say(bob);
    await refusedTo("bob");
    isAway = false;
    await say(eve);
    await refusedTo("eve");
    equal(await openCount(daemon), 1);
    await say(bob);
    const [task] = await daemon.settled();
    equal(task?.state, "succeeded");
  },
);
