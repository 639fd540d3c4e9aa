/**
 * `svc github checks` and `svc gitlab checks` from outside: a step and a person read how a commit stands,
 * where `may` and the Connection allow it; what is wrong is said in one line each.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { fakeGitHub, problem, TOKEN } from "../fakes/github.ts";
import { type FakeCheckRun, FakeChecks } from "../fakes/github_checks.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, secretStore } from "../helpers/manifests.ts";
import { programTest } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { gitLabFake } from "../rigs/forge_fakes.ts";

const REPOSITORY = "brightwater/tidepool";
const SHA = "9be7a2d05c41f386e31f6c8a47d24f0c61d2b97a";
const OTHER = "e31f6c8a47d24f0c61d2b97a9be7a2d05c41f386";

const PUSH = { after: SHA, repository: { full_name: REPOSITORY }, sender: { login: "ada", id: 7 } };

function manifests(
  { api, may, run, allow }: {
    readonly api: string;
    readonly may: Record<string, unknown>;
    readonly run: string;
    readonly allow?: Record<string, unknown>;
  },
): Manifest[] {
  const token = { fromSecret: { store: "tidepool", key: "token" } };
  const github = { repository: REPOSITORY, api, token };
  return [
    secretStore("tidepool", { token: TOKEN.token }),
    {
      kind: "Connection",
      metadata: { name: "tidepool" },
      spec: { github, ...allow === undefined ? {} : { allow } },
    },
    { kind: "Workflow", metadata: { name: "look" }, spec: { may, steps: [{ id: "look", run }] } },
    {
      kind: "Trigger",
      metadata: { name: "look" },
      spec: {
        event: { source: "webhook", webhook: { secret: { fromRef: "tidepool" } } },
        action: { workflow: "look", workspace: "default" },
      },
    },
  ];
}

async function runTask(daemon: TestDaemon, payload: unknown): Promise<string> {
  using client = daemon.client();
  await client.call("trigger.fire", { name: "look", payload: JSON.stringify(payload) });
  const [task] = await daemon.settled();
  equal(task?.state, "succeeded", task?.reason);
  return task?.id ?? "";
}

const read = (daemon: TestDaemon, name: string) => Deno.readTextFile(`${daemon.workspace}/${name}`);

function checkRun(name: string, conclusion: string | null): FakeCheckRun {
  return {
    id: name.length,
    repository: REPOSITORY,
    head_sha: SHA,
    app: "ci[bot]",
    name,
    status: conclusion === null ? "in_progress" : "completed",
    conclusion,
    external_id: "",
    title: "",
    summary: "",
    annotations: [],
  };
}

programTest("checks: a step and a person read how a commit stands", async (program) => {
  let checks: FakeChecks | undefined;
  await using fake = fakeGitHub({
    routes: (state) => (checks = new FakeChecks(state)).routes,
  });
  checks?.runs.push(
    checkRun("unit", "success"),
    checkRun("lint: the long name of a check", "failure"),
    checkRun("docs", "skipped"),
  );
  checks?.unknown.add(OTHER);
  fake.issues.statuses.push({
    id: 1,
    repository: REPOSITORY,
    sha: SHA,
    state: "pending",
    context: "ci/slow",
    description: null,
    target_url: "https://ci.example.com/1",
  });
  await using daemon = await startDaemon(program);
  const run = [
    `svc github status --state pending --context svc/look`,
    `svc github checks --commit ${SHA} -o json > checks.json`,
    `svc github checks --commit ${SHA} > checks.text`,
    `if svc github checks --commit 9be7a2d 2> short; then exit 9; fi`,
    `if svc github checks --commit ${OTHER} 2> unknown; then exit 9; fi`,
    `if svc gitlab checks --commit ${SHA} 2> forge; then exit 9; fi`,
  ].join("\n");
  const may = { github: { status: {}, checks: "read" } };
  await daemon.apply(...manifests({ api: fake.url, may, run }));
  const id = await runTask(daemon, PUSH);
  const shown = JSON.parse(await read(daemon, "checks.json"));
  deepEqual(shown, {
    task_id: id,
    repository: REPOSITORY,
    commit: SHA,
    state: "red",
    counts: { green: 2, red: 1, pending: 1 },
    checks: [
      {
        name: "lint: the long name of a check",
        state: "red",
        said: "failure",
        url: `https://github.com/${REPOSITORY}/runs/30`,
      },
      { name: "ci/slow", state: "pending", said: "pending", url: "https://ci.example.com/1" },
      {
        name: "docs",
        state: "green",
        said: "skipped",
        url: `https://github.com/${REPOSITORY}/runs/4`,
      },
      {
        name: "unit",
        state: "green",
        said: "success",
        url: `https://github.com/${REPOSITORY}/runs/4`,
      },
    ],
  });
  const text = await read(daemon, "checks.text");
  ok(text.split("\n").every((line) => line.length <= 80), text);
  match(text, /^brightwater\/tidepool 9be7a2d05c: red \(1 red, 1 pending, 2 green\)\n/);
  match(text, /STATE +SAID +NAME\nred +failure +lint: the long name of a check\n/);
  match(text, /\nFailed:\nlint: the long name of a check: https:\/\/github\.com\//);
  match(await read(daemon, "short"), /"9be7a2d" is not the whole id of a commit: give its 40/);
  match(await read(daemon, "unknown"), new RegExp(`GitHub knows no commit ${OTHER} in bright`));
  match(await read(daemon, "forge"), /may\.gitlab\.checks is not in Workflow "look"/);

  // The status that the task has set is there by now, and counts for others alone.
  fake.issues.statuses.push({
    id: 2,
    repository: REPOSITORY,
    sha: SHA,
    state: "failure",
    context: "svc/look",
    description: null,
    target_url: null,
  });
  const again = await daemon.json("github", "checks", id, "--commit", SHA) as typeof shown;
  deepEqual(again, shown);

  fake.interfere = () =>
    problem(403, "API rate limit exceeded", {
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": `${Math.ceil(Date.now() / 1000) + 600}`,
    });
  const limited = await daemon.svc(["github", "checks", id, "--commit", SHA]);
  equal(limited.code, 1);
  match(limited.stderr, /limits the rate of calls, and asks for a pause of \d+ s/);
  fake.interfere = () =>
    problem(403, "Resource not accessible by personal access token", {
      "x-accepted-github-permissions": "checks=read",
    });
  const forbidden = await daemon.svc(["github", "checks", id, "--commit", SHA]);
  match(forbidden.stderr, /the token needs the permission checks=read/);
  fake.interfere = undefined;

  await daemon.apply(
    ...manifests({ api: fake.url, may, run, allow: { outputs: ["status"] } }),
  );
  const closed = await daemon.svc(["github", "checks", id, "--commit", SHA]);
  match(closed.stderr, /allow\.outputs of Connection "tidepool" does not have checks/);
});

/** The workflow `look` as that of a child of a task at the top, with a task in between. */
function below(
  { forge, may, set, run }: {
    readonly forge: "github" | "gitlab";
    readonly may: Record<string, unknown>;
    readonly set: string;
    readonly run: string;
  },
): Manifest[] {
  const of = (name: string, steps: readonly Record<string, unknown>[]): Manifest => ({
    kind: "Workflow",
    metadata: { name },
    spec: { may: { [forge]: may }, steps },
  });
  return [
    of("look", [{ id: "set", run: set }, { id: "child", workflow: "between" }]),
    of("between", [{ id: "child", workflow: "leaf" }]),
    of("leaf", [{ id: "look", run }]),
  ];
}

programTest(
  "checks: what a task above has set does not count, nor what the task of a retry has",
  async (program) => {
    await using fake = fakeGitHub({ routes: (state) => new FakeChecks(state).routes });
    const status = { repository: REPOSITORY, sha: SHA, description: null, target_url: null };
    for (const [id, context] of ["svc/top", "svc/other"].entries()) {
      fake.issues.statuses.push({ ...status, id: id + 1, state: "pending", context });
    }
    await using daemon = await startDaemon(program);
    await daemon.apply(
      ...manifests({ api: fake.url, may: {}, run: "true" }).filter(({ kind }) =>
        kind !== "Workflow"
      ),
      ...below({
        forge: "github",
        may: { status: {}, checks: "read" },
        set: "svc github status --state pending --context svc/top",
        run: `svc github checks --commit ${SHA} -o json > checks.json; test -e well`,
      }),
    );
    using client = daemon.client();
    await client.call("trigger.fire", { name: "look", payload: JSON.stringify(PUSH) });
    const [top] = (await daemon.settled()).toSorted((a, b) => a.id < b.id ? -1 : 1);
    const left = async () => {
      const { state, checks } = JSON.parse(await read(daemon, "checks.json"));
      return [state, ...checks.map(({ name }: { name: string }) => name)];
    };
    deepEqual(await left(), ["pending", "svc/other"]);

    // The step that has set it is kept.
    await Deno.remove(`${daemon.workspace}/checks.json`);
    await Deno.writeTextFile(`${daemon.workspace}/well`, "");
    const retried = await daemon.svc(["task", "retry", top?.id ?? ""]);
    equal(retried.code, 0, retried.stderr);
    await daemon.settled();
    deepEqual(await left(), ["pending", "svc/other"]);
  },
);

programTest("checks: without the right nothing is read", async (program) => {
  await using fake = fakeGitHub();
  await using daemon = await startDaemon(program);
  const run = `if svc github checks --commit ${SHA} 2> refused; then exit 9; fi`;
  await daemon.apply(...manifests({ api: fake.url, may: { github: { comment: {} } }, run }));
  const id = await runTask(daemon, PUSH);
  match(
    await read(daemon, "refused"),
    /may\.github\.checks is not in Workflow "look": .* it allowed comment$/m,
  );
  const person = await daemon.svc(["github", "checks", id, "--commit", SHA]);
  match(person.stderr, /may\.github\.checks is not in Workflow "look"/);
  const unnamed = await daemon.svc(["github", "checks", id]);
  match(unnamed.stderr, /Give the whole id of a commit: --commit SHA/);
  deepEqual(fake.calls.filter(({ path }) => path.includes("/commits/")), []);

  // A task of no event of GitHub has no repository, unless its workflow names one.
  const may = { github: { checks: "read" } };
  await daemon.apply(...manifests({ api: fake.url, may, run }));
  const other = await runTask(daemon, { text: "of nothing" });
  const none = await daemon.svc(["github", "checks", other, "--commit", SHA]);
  match(none.stderr, /did not come from an event of GitHub/);
});

programTest(
  "checks: at GitLab, the jobs of pipelines, and not what a task above has set",
  async (program) => {
    await using fake = await gitLabFake();
    await using daemon = await startDaemon(program);
    const sha = await fake.git.run(fake.repository, "rev-parse", "refs/heads/main");
    const run = `svc gitlab checks --commit ${sha} -o json > checks.json`;
    const [store, , , trigger] = manifests({ api: fake.url, may: {}, run });
    if (store === undefined || trigger === undefined) throw new Error("No manifests");
    await daemon.apply(
      secretStore("tidepool", { token: fake.token }),
      { kind: "Connection", metadata: { name: "tidepool" }, spec: fake.connection },
      ...below({
        forge: "gitlab",
        may: { status: {}, checks: "read" },
        set: "svc gitlab status --state pending --context svc/top --wait",
        run,
      }),
      trigger,
    );
    const [author] = fake.fake.state.users.values();
    if (author === undefined) throw new Error("The fake has no users");
    const project = fake.fake.state.projectAt(fake.repository)?.id ?? 0;
    const job = { project, sha, ref: "main", description: null, author };
    fake.fake.threads.statuses.push(
      { ...job, id: 1, name: "build", status: "failed" },
      { ...job, id: 2, name: "test", status: "running" },
    );
    await runTask(daemon, {
      object_kind: "push",
      after: sha,
      checkout_sha: sha,
      project: { path_with_namespace: fake.repository },
      user_id: 7,
      user_username: "ada",
    });
    const shown = JSON.parse(await read(daemon, "checks.json"));
    deepEqual([shown.repository, shown.state], [fake.repository, "red"]);
    deepEqual(shown.checks.map(({ name, said }: Record<string, string>) => `${name} ${said}`), [
      "build failed",
      "test running",
    ]);
  },
  { skip: missing("git") },
);
