/**
 * Answers at GitHub from outside: a signed comment starts a task, and comment, status and reactions
 * go to what it is about, whatever the agent wrote and whoever is in the way.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { type FakeGitHub, fakeGitHub, problem, TOKEN } from "../fakes/github.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, secretStore, workflow } from "../helpers/manifests.ts";
import { NO_DATABASE, ONE_PROGRAM, programTest, slowTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const REPOSITORY = "brightwater/tidepool";
const SECRET = "the-secret-of-the-hook";
const HEAD = "a".repeat(40);
const EARLIER = "b".repeat(40);
const MAIN = { login: "mona", id: 7 };

function connection(fake: FakeGitHub, more: Record<string, unknown> = {}): Manifest {
  const token = { fromSecret: { store: "tidepool", key: "token" } };
  const github = { repository: REPOSITORY, api: fake.url, token };
  return { kind: "Connection", metadata: { name: "tidepool" }, spec: { github, ...more } };
}

const STORES = [
  secretStore("tidepool", { token: TOKEN.token }),
  secretStore("github", { secret: SECRET }),
];

function trigger(report?: Record<string, unknown>, name = "review"): Manifest {
  return {
    kind: "Trigger",
    metadata: { name },
    spec: {
      event: { source: "webhook", webhook: { secret: { fromRef: "github" }, scheme: "github" } },
      action: { workflow: name, workspace: "default" },
      ...(report === undefined ? {} : { report: { github: report } }),
    },
  };
}

/** Lets the stand-in send its events of comments to a trigger. */
async function hook(fake: FakeGitHub, daemon: TestDaemon, name = "review"): Promise<void> {
  const answer = await fetch(`${fake.url}/repos/${REPOSITORY}/hooks`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN.token}` },
    body: JSON.stringify({
      name: "web",
      active: true,
      events: ["issue_comment"],
      config: { url: `${daemon.url}/webhook/${name}`, content_type: "json", secret: SECRET },
    }),
  });
  equal(answer.status, 201, await answer.text());
}

function withIssues(fake: FakeGitHub): FakeGitHub {
  const shared = { repository: REPOSITORY, title: "t", body: "", user: MAIN };
  fake.issues.issues.push(
    { ...shared, number: 7, pull: { sha: HEAD, commits: [EARLIER, HEAD] } },
    { ...shared, number: 8 },
  );
  return fake;
}

const say = (fake: FakeGitHub, body: string, issue = 7) =>
  fake.issues.comment({ repository: REPOSITORY, issue, user: MAIN, body });

const RANDOM = "k3J9sQ1xZ7pLw2Vb8NtR5mYc6HdF4gTa0UeX";

/** Our comments, without their markers. */
const ours = (fake: FakeGitHub) =>
  fake.issues.comments.filter(({ user }) => user.id === TOKEN.id)
    .map(({ body }) => body.replace(/\n\n<!-- svc \S+ \S+ [0-9a-f]{40} -->$/, ""));

const sent = (daemon: TestDaemon) =>
  until("an empty outbox", async () => {
    const waiting = await daemon.json("get", "outbox", "--state", "pending") as unknown[];
    return waiting.length === 0 || undefined;
  });

slowTest("report: eyes and a pending status first, then how it ended", async (program) => {
  await using fake = withIssues(fakeGitHub());
  await using daemon = await startDaemon(program);
  const report = { react: true, status: "svc/review", comment: "{{ steps.s1.outputs.result }}" };
  const manifest = trigger(report);
  await daemon.apply(
    ...STORES,
    connection(fake),
    workflow(
      "review",
      'while [ ! -e go ]; do sleep 0.05; done; printf "result=hi @octocat, token %s" "$TOKEN" >> "$SVC_OUTPUT"',
    ),
    manifest,
  );
  await hook(fake, daemon);
  const first = await say(fake, "/review");
  await until("the first status", () => fake.issues.statuses.length > 0 || undefined);
  await Deno.writeTextFile(`${daemon.workspace}/go`, "");
  await daemon.settled();
  await sent(daemon);
  deepEqual(ours(fake), ["hi @\u200boctocat, token"]);
  deepEqual(fake.issues.reactions.map(({ to, content }) => [to, content]), [
    [`issues/comments/${first.id}`, "eyes"],
    [`issues/comments/${first.id}`, "rocket"],
  ]);
  deepEqual(fake.issues.statuses.map(({ sha, context, state }) => [sha, context, state]), [
    [HEAD, "svc/review", "pending"],
    [HEAD, "svc/review", "success"],
  ]);
  await daemon.apply(workflow("review", `printf 'result=t: %s%s' ghp_ ${RANDOM} >> "$SVC_OUTPUT"`));
  await say(fake, "/review a token");
  await daemon.settled();
  await sent(daemon);
  match(ours(fake)[0] ?? "", /^There is no answer: The answer has a token of GitHub: svc sends/);
  await daemon.apply(workflow("review", "exit 3"));
  await say(fake, "/review again");
  await daemon.settled();
  await sent(daemon);
  equal(ours(fake).length, 1, "the comment of this key is updated");
  match(ours(fake)[0] ?? "", /^review failed: .*3.* \(task \S+\)$/);
  equal(fake.issues.statuses.at(-1)?.state, "failure");
  equal(fake.issues.reactions.at(-1)?.content, "confused");
  const deliveries = await daemon.json("get", "deliveries") as Record<string, string>[];
  const own = deliveries.filter(({ outcome }) => outcome === "skipped");
  equal(own.length, 3, "created, and edited twice, by us");
  match(
    own[0]?.["reason"] ?? "",
    /^svc's own comment "review" of task \S+: it starts nothing$/,
  );
  const kinds = await daemon.json("get", "outbox") as { kind: string; state: string }[];
  deepEqual(
    new Set(kinds.map(({ kind }) => kind)),
    new Set([
      "github-comment",
      "github-status",
      "github-reaction",
    ]),
  );
  const shown = [JSON.stringify(kinds), daemon.log, JSON.stringify(fake.issues.comments)].join();
  ok(!shown.includes(TOKEN.token), "no token anywhere");
});

slowTest("report: a key that is a template gives each question its own comment", async () => {
  await using fake = withIssues(fakeGitHub());
  await using daemon = await startDaemon(ONE_PROGRAM);
  const report = {
    comment: "to {{ payload.comment.body }}",
    key: "answer-{{ payload.comment.id }}",
  };
  await daemon.apply(...STORES, connection(fake), workflow("review", "true"), trigger(report));
  await hook(fake, daemon);
  for (const question of ["one?", "two?"]) {
    await say(fake, question);
    await daemon.settled();
    await sent(daemon);
  }
  deepEqual(ours(fake), ["to one?", "to two?"]);
  const again = await daemon.svc(["task", "retry", "latest"]);
  equal(again.code, 0, again.stderr);
  await daemon.settled();
  await sent(daemon);
  equal(ours(fake).length, 2, "a retry answers where the task before it did");
  const unreadable = { comment: "x", key: "{{ payload.nothing.id }}" };
  await daemon.apply(trigger(unreadable));
  for (const question of ["three?", "four?"]) {
    await say(fake, question);
    await daemon.settled();
    await sent(daemon);
  }
  equal(ours(fake).length, 4, "without a value, a comment of the task alone");
  const keys = (await daemon.json("get", "outbox") as { key: string; task_id: string }[])
    .slice(0, 2);
  deepEqual(keys.map(({ key }) => key), keys.map(({ task_id }) => task_id));
});

slowTest("from a step: comment, status and react, to its own task only", async (program) => {
  await using fake = withIssues(fakeGitHub());
  await using daemon = await startDaemon(program);
  const manifest = trigger();
  await daemon.apply(
    ...STORES,
    connection(fake),
    workflow(
      "review",
      'printf "one\\n" | svc github comment --text - --key a --wait',
      "svc github comment --text two --key a; svc github comment --text three --format text",
      `svc github status --state success --context svc/lint --sha ${EARLIER} --wait`,
      "svc github react --with heart",
      `svc github status --state success --context svc/lint --sha ${"c".repeat(40)} --wait || true`,
    ),
    manifest,
  );
  await hook(fake, daemon);
  const comment = await say(fake, "go");
  const [task] = await daemon.settled();
  equal(task?.state, "succeeded", task?.reason);
  await sent(daemon);
  deepEqual(ours(fake), ["two", "```\nthree\n```"]);
  deepEqual(fake.issues.statuses.map(({ sha, state }) => [sha, state]), [[EARLIER, "success"]]);
  deepEqual(fake.issues.reactions.map(({ to, content }) => [to, content]), [
    [`issues/comments/${comment.id}`, "heart"],
  ]);
  const logs = await daemon.svc(["task", "logs", task?.id ?? ""]);
  match(logs.stdout + logs.stderr, /commented on brightwater\/tidepool#7/);
  match(logs.stdout + logs.stderr, /c{40} is not a commit of pull request #7: name one that is/);
  await say(fake, "another");
  const [second] = await daemon.settled();
  ok(second !== undefined && second.id !== task?.id);
  await sent(daemon);
  equal(ours(fake).length, 2, "keys are of the issue, not of the task");
}, { fileOnly: NO_DATABASE });

slowTest("where there is nothing to answer to, it says why", async () => {
  await using fake = withIssues(fakeGitHub());
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(...STORES, workflow("review", "true"), trigger());
  await hook(fake, daemon);
  await say(fake, "go", 8);
  const [task] = await daemon.settled();
  const id = task?.id ?? "";
  const comment = () => daemon.svc(["github", "comment", id, "--text", "x"]);
  match((await comment()).stderr, /^error: No Connection to github covers .* svc connect/);
  await daemon.apply(connection(fake));
  const status = await daemon.svc([
    "github",
    "status",
    id,
    "--state",
    "success",
    "--context",
    "x",
  ]);
  match(status.stderr, /has no commit that could have a status$/m);
  const key = await daemon.svc(["github", "comment", id, "--text", "x", "--key", "a -->"]);
  match(key.stderr, /^error: "a -->" cannot be the key of a comment/);
  equal((await daemon.svc(["github", "comment", id, "--text", " "])).code, 1);
  equal((await daemon.svc(["github", "comment", id])).code, 2);
  equal((await daemon.svc(["github", "status", id])).code, 2);
  equal((await daemon.svc(["github", "react", id, "--with", "dance"])).code, 2);
  await daemon.svc(["trigger", "fire", "review"]);
  await daemon.settled();
  const fired = await daemon.svc(["github", "comment", "latest", "--text", "x"]);
  match(fired.stderr, /did not come from an event of GitHub/);
  deepEqual(await daemon.json("get", "outbox"), []);
});

slowTest(
  "an answer without a way is kept, shown, and sent once there is one",
  async (program) => {
    await using fake = withIssues(fakeGitHub());
    await using daemon = await startDaemon(program);
    const report = { react: true, status: "svc/review", comment: "done" };
    const manifest = trigger(report);
    const lack =
      /No Connection to github in project "default": make one with svc connect github OWNER\/REPOSITORY/;
    await daemon.apply(...STORES, workflow("review", "true"));
    const applied = await daemon.svc(["apply", "-f", "-"], { stdin: JSON.stringify(manifest) });
    equal(applied.code, 0);
    match(applied.stderr, /spec\.report\.github: No task is answered: No Connection/);
    match(applied.stderr, lack);
    match(
      (await daemon.svc(["describe", "trigger/review"])).stdout,
      /^Answers: +github: none: No Conn/m,
    );
    await hook(fake, daemon);
    await say(fake, "go");
    const [task] = await daemon.settled();
    equal(task?.state, "succeeded");
    const failed = await until("what was given up", async () => {
      const all = await daemon.json("get", "outbox", "--state", "failed") as Record<
        string,
        string
      >[];
      return all.length === 3 ? all : undefined;
    });
    deepEqual(
      failed.map(({ kind, reason, connection, task_id }) => [kind, reason, connection, task_id])
        .toSorted(),
      ["github-comment", "github-reaction", "github-status"].map((kind) => [
        kind,
        `No Connection to github covers ${REPOSITORY} in project "default": make one with ` +
        `svc connect github ${REPOSITORY}`,
        null,
        task?.id,
      ]),
    );
    equal((await daemon.json("get", "outbox", "--task", task?.id ?? "") as unknown[]).length, 3);
    const described = await daemon.svc(["describe", "task/latest"]);
    match(
      described.stdout,
      /^Answers: +github-\S+ failed: No Connection to github .* \(svc outbox retry \S+\)$/m,
    );
    const degraded = async () => (await daemon.json("status") as { degraded: string[] }).degraded;
    const [first = "", second = ""] = await degraded();
    match(first, /^trigger review: no task is answered: No Connection to github in project/);
    match(
      second,
      /^3 messages were not sent: No Connection to github covers .* svc outbox retry ID/,
    );
    const early = await daemon.svc(["outbox", "retry", failed[0]?.["id"] ?? ""]);
    equal(early.code, 1);
    match(early.stderr, /No Connection to github covers/);
    await daemon.apply(connection(fake));
    deepEqual(await degraded(), [], "mended");
    match(
      (await daemon.svc(["describe", "trigger/review"])).stdout,
      /^Answers: +github, over connection\/tidepool$/m,
    );
    for (const { id = "" } of failed.toReversed()) {
      equal((await daemon.svc(["outbox", "retry", id])).code, 0);
    }
    await sent(daemon);
    deepEqual(ours(fake), ["done"]);
    equal(fake.issues.statuses.at(-1)?.state, "success");
    await say(fake, "again");
    await daemon.settled();
    await sent(daemon);
    equal(ours(fake).length, 1, "what was sent late is updated as ever");
  },
);

programTest("what can never be answered says so in its place", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  const manifest = trigger({ comment: "x" });
  await daemon.apply(...STORES, workflow("review", "true"), manifest);
  await daemon.svc(["trigger", "fire", "review"]);
  await daemon.settled();
  const [row] = await until("its row", async () => {
    const all = await daemon.json("get", "outbox", "--state", "failed") as Record<string, string>[];
    return all.length > 0 ? all : undefined;
  });
  equal(row?.["kind"], "unanswered");
  match(
    row?.["reason"] ?? "",
    /did not come from an event of GitHub or GitLab, so svc cannot answer it/,
  );
  match(
    (await daemon.svc(["describe", "task/latest"])).stdout,
    /^Answers: +none: Task \S+ did not/m,
  );
  const again = await daemon.svc(["outbox", "retry", "latest"]);
  equal(again.code, 1);
  match(again.stderr, /There is no message to send/);
});

programTest("whom nobody can ask, and tasks of clocks: svc apply says it", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  const { spec, ...rest } = trigger() as { spec: Record<string, unknown> };
  const webhook = {
    secret: { fromRef: "github" },
    scheme: "github",
    from: { permission: "write" },
  };
  const guarded = { ...rest, spec: { ...spec, event: { source: "webhook", webhook } } };
  const nightly = {
    ...trigger({ comment: "x" }, "nightly"),
    spec: {
      event: { source: "cron", cron: { schedule: "0 3 * * *" } },
      action: { workflow: "review", workspace: "default" },
      report: { github: { comment: "x" } },
    },
  };
  await daemon.apply(...STORES, workflow("review", "true"));
  const stdin = [guarded, nightly].map((one) => JSON.stringify(one)).join("\n---\n");
  const { code, stderr } = await daemon.svc(["apply", "-f", "-"], { stdin });
  equal(code, 0, stderr);
  match(
    stderr,
    /event\.webhook\.from: Tasks fail, because svc cannot ask who may start them: No/,
  );
  match(stderr, /spec\.report\.github: No task is answered: nothing of source "cron" is about/);
  const { stdout } = await daemon.svc(["describe", "trigger/review"]);
  match(
    stdout,
    /^May start: +senders with the permission write .*; svc asks github: none: No Connection/m,
  );
  match(
    (await daemon.svc(["status"])).stdout,
    /^degraded: +trigger review: tasks fail, because/m,
  );
}, { fileOnly: NO_DATABASE });

programTest("a refusal of GitHub ends the message with what is missing", async () => {
  const weak = { ...TOKEN, token: "ghp_weak_0123456789", permissions: ["metadata=read"] };
  await using fake = withIssues(fakeGitHub({ tokens: [weak, TOKEN] }));
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(...STORES, connection(fake), workflow("review", "true"), trigger());
  await daemon.apply(secretStore("tidepool", { token: weak.token }));
  await hook(fake, daemon);
  await say(fake, "go");
  await daemon.settled();
  const comment = () => daemon.svc(["github", "comment", "latest", "--text", "x", "--wait"]);
  const refused = await comment();
  equal(refused.code, 1);
  match(refused.stderr, /the token needs the permission issues=write/);
  const [failed] = await daemon.json("get", "outbox", "--state", "failed") as { id: string }[];
  match((await daemon.svc(["status"])).stdout, /outbox: +0 pending; 1 failed \(svc get outbox/);
  await daemon.apply(secretStore("tidepool", { token: TOKEN.token }));
  equal((await daemon.svc(["outbox", "retry", failed?.id ?? ""])).code, 0);
  await sent(daemon);
  deepEqual(ours(fake), ["x"]);
  equal((await daemon.svc(["outbox", "drop", failed?.id ?? ""])).code, 1, "it was sent");
});

slowTest("a lost answer gives no second comment, a deleted one a new one", async () => {
  await using fake = withIssues(fakeGitHub());
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(...STORES, connection(fake), workflow("review", "true"), trigger());
  await hook(fake, daemon);
  await say(fake, "go");
  await daemon.settled();
  const comment = (text: string) => daemon.svc(["github", "comment", "latest", "--text", text]);
  let lost = 0;
  fake.interfere = (call, carryOut) => {
    if (call.method !== "POST" || lost++ > 0) return undefined;
    return carryOut().then(() => problem(502, "Bad Gateway"));
  };
  await comment("one");
  await until("the lost answer", () => lost > 0 || undefined);
  const waiting = await until("its mark", async () => {
    const [one] = await daemon.json("get", "outbox") as Record<string, unknown>[];
    return one?.["reason"] !== "" ? one : undefined;
  });
  ok(waiting["uncertain_since"] !== null);
  await daemon.svc(["outbox", "retry", "latest"]);
  await sent(daemon);
  deepEqual(ours(fake), ["one"]);
  const [mine] = fake.issues.comments.filter(({ user }) => user.id === TOKEN.id);
  fake.issues.comments.splice(fake.issues.comments.indexOf(mine!), 1);
  await comment("two");
  await sent(daemon);
  deepEqual(ours(fake), ["two"]);
});

slowTest("a loop that bears no marker is cut", async () => {
  await using fake = withIssues(fakeGitHub());
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(...STORES, connection(fake), workflow("review", "true"), trigger());
  await hook(fake, daemon);
  const bot = { login: TOKEN.login, id: TOKEN.id };
  const post = (user: { login: string; id: number }) =>
    fake.issues.comment({ repository: REPOSITORY, issue: 7, user, body: "/review" });
  await post(MAIN);
  await daemon.settled();
  equal((await daemon.svc(["github", "react", "latest", "--with", "eyes"])).code, 0);
  equal((await daemon.svc(["github", "comment", "latest", "--text", "hi", "--wait"])).code, 0);
  const outcomes = async () =>
    (await daemon.json("get", "deliveries") as Record<string, string>[])
      .map(({ outcome, reason }) => /looks like a loop/.test(reason ?? "") ? "cut" : outcome);
  for (let n = 0; n < 7; n++) await post(bot);
  deepEqual((await outcomes()).slice(0, 7), ["cut", "cut", ...Array(5).fill("accepted")]);
  await post(MAIN);
  await post(bot);
  deepEqual((await outcomes()).slice(0, 2), ["accepted", "accepted"], "somebody else has spoken");
});

programTest("a marker makes only our own events ours", async () => {
  await using fake = withIssues(fakeGitHub());
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(...STORES, connection(fake), workflow("review", "true"), trigger());
  await hook(fake, daemon);
  await say(fake, "go");
  await daemon.settled();
  equal((await daemon.svc(["github", "comment", "latest", "--text", "hi", "--wait"])).code, 0);
  const mine = fake.issues.comments.find(({ user }) => user.id === TOKEN.id);
  const before = (await daemon.tasks()).length;
  await say(fake, `quoted: ${mine?.body}`);
  equal((await daemon.tasks()).length, before + 1, "a stranger who copies it is a stranger");
  const bot = { login: TOKEN.login, id: TOKEN.id };
  const body = mine?.body ?? "";
  await fake.issues.comment({ repository: REPOSITORY, issue: 8, user: bot, body });
  equal((await daemon.tasks()).length, before + 2, "at another place it is not valid");
  await fake.issues.comment({ repository: REPOSITORY, issue: 7, user: bot, body });
  equal((await daemon.tasks()).length, before + 2);
});

programTest(
  "an agent's text of 1 MB, with everything in it, is one harmless comment",
  async () => {
    await using fake = withIssues(fakeGitHub());
    await using daemon = await startDaemon(ONE_PROGRAM);
    await daemon.apply(...STORES, connection(fake), workflow("review", "true"), trigger());
    await hook(fake, daemon);
    await say(fake, "go");
    await daemon.settled();
    const unit = `@everyone ![](http://x/?${TOKEN.token}) <img> --> <!-- \n/approve\n\`\`\`\n`;
    const text = unit.repeat(Math.ceil(1024 * 1024 / unit.length));
    const done = await daemon.svc(["github", "comment", "latest", "--text", "-", "--wait"], {
      stdin: text,
    });
    equal(done.code, 0, done.stderr);
    const [mine] = fake.issues.comments.filter(({ user }) => user.id === TOKEN.id);
    const body = mine?.body ?? "";
    ok(body.length <= 65_536 && body.length > 60_000, `${body.length}`);
    ok(!body.includes(TOKEN.token));
    match(body, /<!-- svc \S+ review [0-9a-f]{40} -->$/);
    const { stdout } = await daemon.svc(["get", "outbox", "latest", "-o", "json"]);
    ok(stdout.length < 1024 * 1024, "what no comment can hold is not kept");
  },
);
