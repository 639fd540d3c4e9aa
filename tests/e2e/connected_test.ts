/**
 * The whole way round, from an empty data directory: one command connects a repository, somebody
 * comments, an agent answers, and the answer goes back as one comment, a status and reactions.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { type FakeGitHub, fakeGitHub, TOKEN } from "../fakes/github.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { slowTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const REPOSITORY = "brightwater/tidepool";
const SHA = "9be7a2d05c41f386e31f6c8a47d24f0c61d2b97a";
const ADA = { login: "ada-pereira", id: 77 };
const STRANGER = { login: "wen", id: 78 };

const REVIEW = [
  {
    kind: "Agent",
    metadata: { name: "reviewer" },
    spec: { command: 'cat >/dev/null; echo "Looked at it for @$WHO; env: $(env | grep -c ghp_)"' },
  },
  {
    kind: "Workflow",
    metadata: { name: "review" },
    spec: {
      steps: [{
        id: "review",
        agent: "reviewer",
        prompt: "Review {{ payload.issue.number }}: {{ payload.comment.body }}",
        env: { WHO: "{{ payload.comment.user.login }}" },
        stdout: "result",
      }],
    },
  },
  {
    kind: "Trigger",
    metadata: { name: "review" },
    spec: {
      event: {
        source: "webhook",
        webhook: {
          endpoint: "github",
          secret: { fromRef: "github" },
          signatureHeader: "X-Hub-Signature-256",
          from: { permission: "write" },
        },
        filter: {
          condition: 'payload?.action == "created" && payload?.comment.body.contains("/review")',
        },
      },
      action: { workflow: "review", workspace: "default" },
      report: {
        github: { react: true, status: "svc/review", comment: "{{ steps.review.outputs.result }}" },
      },
    },
  },
];

function newFake(): FakeGitHub {
  const permissions = { [TOKEN.login]: "admin", [ADA.login]: "write" } as const;
  const fake = fakeGitHub({ repositories: [{ full_name: REPOSITORY, permissions }] });
  fake.issues.issues.push({
    repository: REPOSITORY,
    number: 7,
    title: "Sample the gauge",
    body: "",
    user: ADA,
    pull: { sha: SHA, commits: [SHA] },
  });
  return fake;
}

async function comment(fake: FakeGitHub, body: string, user = ADA): Promise<number> {
  const given = { repository: REPOSITORY, issue: 7, user, body };
  return (await fake.issues.comment(given)).id;
}

/** Waits until nothing of the outbox is pending. */
async function allSent(daemon: TestDaemon): Promise<void> {
  await until("the end of every message", async () => {
    const items = await daemon.json("get", "outbox") as { state: string }[];
    return items.length > 0 && items.every(({ state }) => state !== "pending") ? true : undefined;
  });
}

slowTest("connected in one command, asked, and answered in place", async (program) => {
  await using fake = newFake();
  await using daemon = await startDaemon(program);
  const connect = await daemon.svc(
    ["connect", "github", REPOSITORY, "--url", daemon.url, "--api", fake.url, "--token", "-"],
    { stdin: TOKEN.token },
  );
  equal(connect.code, 0, connect.stderr);
  match(connect.stdout, /connection\/tidepool: brightwater\/tidepool is connected/);
  const [hook, ...more] = fake.hooks.hooks.values();
  equal(more.length, 0);
  deepEqual(hook?.config.url, `${daemon.url}/webhook/github`);
  ok((hook.config.secret ?? "").length >= 32, "the secret is short");
  await daemon.apply(...REVIEW);

  const first = await comment(fake, "/review please");
  await daemon.settled();
  await allSent(daemon);
  const own = () => fake.issues.comments.filter(({ user }) => user.login === TOKEN.login);
  equal(own().length, 1);
  const [answer] = own();
  match(answer?.body ?? "", /^Looked at it for @\u200bada-pereira; env: 0\n/);
  const reactions = (id: number) =>
    fake.issues.reactions.filter(({ to }) => to === `issues/comments/${id}`)
      .map(({ content, user }) => `${content} ${user.login}`);
  deepEqual(reactions(first), ["eyes svc-bot", "rocket svc-bot"]);
  const last = fake.issues.statuses.at(-1);
  deepEqual([last?.sha, last?.context, last?.state], [SHA, "svc/review", "success"]);

  const second = await comment(fake, "/review again, @svc-bot");
  await daemon.settled();
  await allSent(daemon);
  deepEqual(own().map(({ id }) => id), [answer?.id], "the comment was not updated in place");
  deepEqual(reactions(second), ["eyes svc-bot", "rocket svc-bot"]);
  const reviews = await daemon.json("get", "tasks", "--trigger", "review") as unknown[];
  equal(reviews.length, 2, "an answer of ours started something");

  const before = [own().map(({ body }) => body), fake.issues.statuses.length];
  const third = await comment(fake, "/review for a stranger", STRANGER);
  await daemon.settled();
  await allSent(daemon);
  const [refused] = await daemon.json("get", "tasks", "--trigger", "review") as {
    state: string;
    reason: string;
  }[];
  equal(refused?.state, "cancelled");
  match(refused?.reason ?? "", /^not started, .*wen may not write to brightwater\/tidepool$/);
  deepEqual([own().map(({ body }) => body), fake.issues.statuses.length], before);
  deepEqual(reactions(third), []);

  const shown = await daemon.svc([
    "get",
    "connections,secretstores,outbox,deliveries",
    "-o",
    "yaml",
  ]);
  for (const text of [daemon.log, connect.stdout, connect.stderr, shown.stdout]) {
    ok(!text.includes(TOKEN.token), "the token is shown");
  }
  const disconnect = await daemon.svc(["disconnect", "tidepool", "--yes"]);
  equal(disconnect.code, 0, disconnect.stderr);
  equal(fake.hooks.hooks.size, 0);
});
