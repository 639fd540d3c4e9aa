/**
 * `may` from outside: what a workflow does not declare is refused to its steps and to people, a step
 * may have less, limits count keys, an admin's switch stops all, and nothing applied later widens a task.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { type FakeGitHub, fakeGitHub, TOKEN } from "../fakes/github.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, secretStore } from "../helpers/manifests.ts";
import { programTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const REPOSITORY = "brightwater/tidepool";
const SECRET = "the-secret-of-the-hook";
const MAIN = { login: "mona", id: 7 };

function connection(fake: FakeGitHub, allow?: Record<string, unknown>): Manifest {
  const token = { fromSecret: { store: "tidepool", key: "token" } };
  const github = { repository: REPOSITORY, api: fake.url, token };
  const more = allow === undefined ? {} : { allow };
  return { kind: "Connection", metadata: { name: "tidepool" }, spec: { github, ...more } };
}

const workflow = (spec: Record<string, unknown>): Manifest => ({
  kind: "Workflow",
  metadata: { name: "fix" },
  spec,
});

const TRIGGER: Manifest = {
  kind: "Trigger",
  metadata: { name: "fix" },
  spec: {
    event: { source: "webhook", webhook: { secret: { fromRef: "github" }, scheme: "github" } },
    action: { workflow: "fix", workspace: "default" },
  },
};

/** Has the stand-in send a signed comment, and waits for the end of the task. */
async function runTask(fake: FakeGitHub, daemon: TestDaemon): Promise<string> {
  fake.issues.issues.push({ repository: REPOSITORY, number: 8, title: "t", body: "", user: MAIN });
  const answer = await fetch(`${fake.url}/repos/${REPOSITORY}/hooks`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN.token}` },
    body: JSON.stringify({
      name: "web",
      active: true,
      events: ["issue_comment"],
      config: { url: `${daemon.url}/webhook/fix`, content_type: "json", secret: SECRET },
    }),
  });
  equal(answer.status, 201, await answer.text());
  await fake.issues.comment({ repository: REPOSITORY, issue: 8, user: MAIN, body: "/fix" });
  const [task] = await daemon.settled();
  equal(task?.state, "succeeded", task?.reason);
  return task?.id ?? "";
}

const STORES = [
  secretStore("tidepool", { token: TOKEN.token }),
  secretStore("github", { secret: SECRET }),
];

/** What a command of a step printed as its refusal. */
const refusal = async (daemon: TestDaemon, file: string) =>
  (await Deno.readTextFile(`${daemon.workspace}/${file}`)).trim();

const refused = (command: string, file: string) => `if ${command} 2> ${file}; then exit 9; fi`;

programTest("may: a task does what its workflow declared, and not more", async (program) => {
  await using fake = fakeGitHub();
  await using daemon = await startDaemon(program, { args: ["--metrics"] });
  const steps = [
    { id: "quiet", may: [], run: refused("svc github comment --text x", "quiet") },
    {
      id: "talk",
      run: [
        "svc github comment --text one --key a",
        "svc github comment --text again --key a",
        refused("svc github comment --text two --key b", "limit"),
        refused("svc github react --with eyes", "react"),
        refused("svc github status --state success --context ci/build", "status"),
        refused("svc github status --state success --context svc/build", "no-commit"),
        "svc github may -o json > may.json",
        "svc github may > may.text",
      ].join("\n"),
    },
  ];
  const may = { github: { comment: { max: 1 }, status: { names: ["svc/*"] } } };
  await daemon.apply(...STORES, connection(fake), workflow({ may, steps }), TRIGGER);
  const id = await runTask(fake, daemon);
  match(await refusal(daemon, "quiet"), /may of step "quiet" does not have comment.* nothing$/);
  match(
    await refusal(daemon, "limit"),
    /may\.github\.comment allows 1 in a task.* used: a; renew one with --key a$/,
  );
  match(
    await refusal(daemon, "react"),
    /may\.github\.react is not in Workflow "fix".* it allowed comment, status$/,
  );
  match(
    await refusal(daemon, "status"),
    /may\.github\.status\.names of Workflow "fix" allows svc\/\*, and not "ci\/build"$/,
  );
  match(await refusal(daemon, "no-commit"), /has no commit that could have a status$/);
  deepEqual(JSON.parse(await refusal(daemon, "may.json")), {
    task_id: id,
    workflow: "fix",
    step: "talk",
    declared: true,
    connection: "tidepool",
    repository: REPOSITORY,
    start: null,
    outputs: [
      { output: "comment", max: 1, used: ["a"], left: 0, hold: "protected" },
      { output: "status", max: null, used: [], left: null, hold: "protected" },
    ],
    refused: [],
  });
  const shown = (await refusal(daemon, "may.text")).split("\n");
  ok(shown.every((line) => line.length <= 80), shown.join("\n"));
  match(shown.join("\n"), /OUTPUT +LEFT +MAX +HOLD +USED\ncomment +0 +1 +protected +a\n/);

  const plan = await daemon.svc(["task", "plan", id]);
  match(plan.stdout, / MAY\s.*\nquiet .* nothing\ntalk /);

  // a person has no more than the task, and what is applied later changes nothing for it
  await daemon.apply(workflow({ steps }));
  const person = await daemon.svc(["github", "react", id, "--with", "eyes"]);
  equal(person.code, 1);
  match(person.stderr, /may\.github\.react is not in Workflow "fix"/);
  const other = await daemon.svc(["github", "comment", id, "--text", "two", "--key", "b"]);
  match(other.stderr, /may\.github\.comment allows 1/);

  await until("the comment", () => fake.issues.comments.length === 2 || undefined);
  const rows = await daemon.json("get", "control-audit") as Record<string, string>[];
  deepEqual(
    rows.filter(({ result }) => result === "denied").map(({ operation, target, caller, reason }) =>
      [operation, target, caller, /^may\S*/.exec(reason ?? "")?.[0]].join(" ")
    ).toSorted(),
    [
      `github.comment task/${id} socket may.github.comment`,
      `github.comment task/${id} step may`,
      `github.react task/${id} socket may.github.react`,
      `github.react task/${id} step may.github.react`,
      `github.status task/${id} step may.github.status.names`,
    ],
  );
  const metrics = (await daemon.send("/metrics", { method: "GET" })).text;
  match(metrics, /^svc_outputs_total\{kind="comment",result="queued"\} 2$/m);
  match(metrics, /^svc_outputs_total\{kind="comment",result="refused"\} 3$/m);
  match(metrics, /^svc_outputs_total\{kind="react",result="refused"\} 2$/m);
});

programTest(
  "may: hold: always keeps everything, and an admin's switch stops it",
  async (program) => {
    await using fake = fakeGitHub();
    await using daemon = await startDaemon(program);
    const may = { github: { hold: "always", comment: {}, react: {} } };
    const run = "svc github comment --text one -o json > held.json; svc github react --with eyes";
    const steps = [{ id: "talk", run }];
    await daemon.apply(...STORES, connection(fake), workflow({ may, steps }), TRIGGER);
    const id = await runTask(fake, daemon);
    const held = JSON.parse(await refusal(daemon, "held.json"));
    deepEqual(
      [held.state, held.held_for],
      ["held", "may.github.comment has hold: always"],
    );
    const outbox = await daemon.json("get", "outbox") as Record<string, string>[];
    deepEqual(outbox.map(({ kind, state }) => `${kind} ${state}`).toSorted(), [
      "github-comment held",
      "github-reaction held",
    ]);
    equal(fake.issues.reactions.length, 0);

    await daemon.apply(connection(fake, { outputs: [] }));
    const stopped = await daemon.svc(["github", "comment", id, "--text", "x"]);
    equal(stopped.code, 1);
    match(
      stopped.stderr,
      /allow\.outputs of Connection "tidepool" does not have comment.* nothing/,
    );
    const shown = await daemon.json("github", "may", id) as Record<string, unknown>;
    deepEqual(shown["outputs"], []);
    equal((shown["refused"] as unknown[]).length, 2);
  },
);

programTest("may: each round of a repeat speaks, and its keys count", async (program) => {
  await using fake = fakeGitHub();
  await using daemon = await startDaemon(program);
  const say = {
    id: "say",
    run: [
      'svc github comment --text "the newest is $SVC_ROUND" --key state',
      'svc github comment --text "round $SVC_ROUND" --key "round-$SVC_ROUND"',
      'echo "round=$SVC_ROUND" >> "$SVC_OUTPUT"',
    ].join("\n"),
  };
  const repeat = { max: 3, until: 'steps.say.outputs.round == "2"', steps: [say] };
  const steps = [
    { id: "talk", repeat },
    { id: "more", run: refused("svc github comment --text x --key round-3", "limit") },
  ];
  const may = { github: { comment: { max: 3 } } };
  await daemon.apply(...STORES, connection(fake), workflow({ may, steps }), TRIGGER);
  await runTask(fake, daemon);
  match(await refusal(daemon, "limit"), /allows 3 in a task.* used: state, round-1, round-2/);
  const texts = () =>
    fake.issues.comments.slice(1).map(({ body }) => body.split("\n")[0]).toSorted();
  await until("both rounds", () => texts().join(", ").includes("newest is 2") || undefined);
  await until("the comments", () => texts().length === 3 || undefined);
  deepEqual(texts(), ["round 1", "round 2", "the newest is 2"]);
});
