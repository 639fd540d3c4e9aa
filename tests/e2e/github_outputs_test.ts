/**
 * Issues, labels and reviews from outside: what a step asks for is at GitHub once, within its limits,
 * without secrets, and starts nothing.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { type FakeGitHub, fakeGitHub, TOKEN } from "../fakes/github.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { gitHubConnection } from "../helpers/manifests.ts";
import { programTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const REPOSITORY = "brightwater/tidepool";
const SECRET = "the-secret-of-the-hook";
const HEAD = "a".repeat(40);
const MAIN = { login: "mona", id: 7 };
const MAY = {
  issue: { title: "[svc] ", labels: ["automated"], allowLabels: ["bug"] },
  label: { add: ["area/*"], remove: ["triage"] },
  review: { comments: 2 },
};

const manifests = (fake: FakeGitHub, run: string, may: Record<string, unknown> = MAY) => [
  ...gitHubConnection({
    api: fake.url,
    repository: REPOSITORY,
    token: TOKEN.token,
    secret: SECRET,
  }),
  {
    kind: "Workflow",
    metadata: { name: "triage" },
    spec: { may: { github: may }, steps: [{ id: "s1", run }] },
  },
  {
    kind: "Trigger",
    metadata: { name: "triage" },
    spec: {
      event: { source: "webhook", webhook: { secret: { fromRef: "github" }, scheme: "github" } },
      action: { workflow: "triage", workspace: "default" },
    },
  },
];

/** A stand-in with one pull request, whose webhook sends everything that svc could cause. */
async function connected(fake: FakeGitHub, daemon: TestDaemon): Promise<void> {
  const files = [{ filename: "src/a.ts", patch: "@@ -1 +1,2 @@\n one\n+two" }];
  fake.issues.issues.push({
    repository: REPOSITORY,
    number: 7,
    title: "t",
    body: "",
    user: MAIN,
    labels: ["triage"],
    pull: { sha: HEAD, commits: [HEAD], files },
  });
  const events = ["issue_comment", "issues", "pull_request_review", "pull_request_review_comment"];
  const config = { url: `${daemon.url}/webhook/triage`, content_type: "json", secret: SECRET };
  const answer = await fetch(`${fake.url}/repos/${REPOSITORY}/hooks`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN.token}` },
    body: JSON.stringify({ name: "web", active: true, events, config }),
  });
  equal(answer.status, 201, await answer.text());
}

async function say(fake: FakeGitHub, daemon: TestDaemon): Promise<void> {
  await fake.issues.comment({ repository: REPOSITORY, issue: 7, user: MAIN, body: "/triage" });
  const tasks = await daemon.settled();
  deepEqual(tasks.filter(({ state }) => state !== "succeeded").map(({ reason }) => reason), []);
  await until("an empty outbox", async () => {
    const waiting = await daemon.json("get", "outbox", "--state", "pending") as unknown[];
    return waiting.length === 0 || undefined;
  });
}

const COMMENTS = JSON.stringify([
  { path: "src/a.ts", line: 2, body: "why two?" },
  { path: "src/a.ts", line: 9, body: "no such line" },
]);

programTest(
  "issue, labels and review: each once, and none of them starts a task",
  async (program) => {
    await using fake = fakeGitHub();
    await using daemon = await startDaemon(program);
    const run = `set -e
svc github issue create --title "Flaky" --body "Failed" --key flaky --label bug
svc github label --add area/docs --remove triage
printf '%s' "$COMMENTS" | svc github review --body "Two findings" --comments -`;
    await daemon.apply(...manifests(fake, `COMMENTS='${COMMENTS}'\n${run}`));
    await connected(fake, daemon);
    for (let round = 0; round < 2; round++) await say(fake, daemon);
    const [pull, issue, ...more] = fake.issues.issues;
    deepEqual(more, [], "one issue, renewed");
    deepEqual([issue?.title, issue?.labels, pull?.labels], [
      "[svc] Flaky",
      ["automated", "bug"],
      ["area/docs"],
    ]);
    const [review, ...others] = fake.reviews.reviews;
    deepEqual(others, [], "one review, renewed");
    deepEqual(review?.comments.map(({ path, line }) => [path, line]), [["src/a.ts", 2]]);
    match(
      review?.body ?? "",
      /^Two findings\n\n\*\*Elsewhere\*\*\n\n`src\/a.ts:9`: no such line\n/,
    );
    await fake.hooks.rest();
    equal((await daemon.settled()).length, 2, "our own events start nothing");
    const audit = await daemon.json("get", "control-audit") as { operation: string }[];
    const operations = new Set(audit.map(({ operation }) => operation));
    for (const name of ["issue_create", "label", "review"]) {
      ok(
        operations.has(`github.${name}`),
        name,
      );
    }
  },
);

/** Lines of a script that must fail, and what they say. */
const REFUSED: readonly (readonly [command: string, says: RegExp])[] = [
  ['issue create --title a --body "token ghp_$R"', /The body has a token of GitHub/],
  ['issue create --title "ghp_$R" --body a', /The title has a token of GitHub/],
  ["issue create --title a --body a --label urgent", /allowLabels does not have "urgent"/],
  ["issue create --title a --body a --key 'a b'", /cannot be a key/],
  ["issue create --title ' ' --body a", /The title is empty/],
  ["label --add bug", /may.github.label.add does not have "bug"/],
  ["label --remove ..", /cannot be a label/],
  ["review --body a --event approve", /may.github.review.events does not have approve/],
  ["review --body a --comments /dev/null", /not a JSON list of comments/],
];

programTest(
  "what is beyond the limits is refused in the step, with the reason",
  async (program) => {
    await using fake = fakeGitHub();
    await using daemon = await startDaemon(program);
    const lines = REFUSED.map(([command]) => `! svc github ${command} || exit 9`);
    const limit = [
      "svc github issue create --title a --body a --key a",
      "svc github issue create --title a --body a --key a",
      "! svc github issue create --title b --body b --key b || exit 9",
    ];
    const run = ["set -e", "R=k3J9sQ1xZ7pLw2Vb8NtR5mYc6HdF4gTa0UeX", ...lines, ...limit].join("\n");
    await daemon.apply(...manifests(fake, run));
    await connected(fake, daemon);
    await say(fake, daemon);
    const { stdout } = await daemon.svc(["task", "logs", "latest"]);
    for (const [, says] of REFUSED) match(stdout, says);
    match(
      stdout,
      /may.github.issue allows 1 in a task, and this one has used: triage\/7\/a; renew one with --key a$/m,
    );
    equal(fake.issues.issues.length, 2);
    ok(!`${stdout}${daemon.log}`.includes("ghp_k3J9"), "no token in a log");
  },
);

programTest("with hold: always an issue waits for a person", async (program) => {
  await using fake = fakeGitHub();
  await using daemon = await startDaemon(program);
  const run = "svc github issue create --title a --body a --wait";
  await daemon.apply(...manifests(fake, run, { issue: { hold: "always" } }));
  await connected(fake, daemon);
  await say(fake, daemon);
  equal(fake.issues.issues.length, 1, "only the pull request");
  const { stdout } = await daemon.svc(["task", "logs", "latest"]);
  const [, id = ""] = /held, because .*hold: always; svc outbox send (\w+)/.exec(stdout) ?? [];
  equal((await daemon.svc(["outbox", "send", id])).code, 0);
  await until("the issue", () => fake.issues.issues.length === 2 || undefined);
});
