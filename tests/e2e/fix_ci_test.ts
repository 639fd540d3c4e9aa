/**
 * The workflow of the package github that works on failed checks until they pass: commit after commit onto
 * the pull request, no worker while CI runs, no look at one suite alone, and an end for what stays red.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { join } from "node:path";
import { agentManifests } from "../../src/integrations/agent_workflow.ts";
import { packageNamed } from "../../src/integrations/packages.ts";
import { TOKEN } from "../fakes/github.ts";
import { FakeChecks } from "../fakes/github_checks.ts";
import { type FakeGitHubWithGit, fakeGitHubWithGit } from "../fakes/github_git.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { gitHubConnection } from "../helpers/manifests.ts";
import { NO_DATABASE, ONE_PROGRAM, programTest, ROOT } from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";
import { git } from "../rigs/git_repository.ts";

const REPOSITORY = "brightwater/tidepool";
const BRANCH = "svc/github-fix-42";
const SECRET = "the-secret-of-the-hook";
const HOW = { skip: missing("git") ?? NO_SANDBOX, fileOnly: NO_DATABASE };

/** Adds a line each time; what it was told last lies beside. */
const AGENT = `cat >told; echo "try $(wc -l <gauge.conf)" >>gauge.conf; echo "Try once more"`;

interface Rig extends AsyncDisposable {
  readonly fake: FakeGitHubWithGit;
  readonly daemon: TestDaemon;
  readonly number: number;
  /** What CI says of the newest commit: by the name of its check, which is a suite of its own. */
  say(name: string, conclusion: string | null): Promise<string>;
  /** A check of the newest commit has passed, of which no event tells. */
  pass(name: string): void;
  /** What CI says of the newest commit in a commit status. */
  status(context: string, state: string): Promise<void>;
  /** The newest commit of the pull request, once it is another than these. */
  next(known: readonly string[]): Promise<string>;
  /** Resolves when the task waits for CI in this round. */
  waits(round: number): Promise<unknown>;
}

/** What a test applies, for the clone in which its tasks get their worktrees, and where events go. */
interface Applied {
  readonly texts: (clone: string) => readonly string[];
  readonly paths: readonly string[];
}

/** What `svc connect github --with coder` applies. */
const PACKAGE: Applied = {
  texts: (clone) =>
    agentManifests(packageNamed("github"), {
      agent: "coder",
      hasOutput: false,
      directory: { path: clone, isolation: "worktree" },
      repository: REPOSITORY,
      users: [],
    }).map(({ text }) => text.replace("suspend: true", "suspend: false")),
  paths: ["github"],
};

async function rigOf({ texts, paths }: Applied = PACKAGE): Promise<Rig> {
  await using opening = new AsyncDisposableStack();
  let checks: FakeChecks | undefined;
  const fake = opening.use(
    await fakeGitHubWithGit({
      repositories: [{ full_name: REPOSITORY, permissions: { [TOKEN.login]: "admin" } }],
      routes: (state) => (checks = new FakeChecks(state)).routes,
    }),
  );
  const bot = { login: TOKEN.login, id: TOKEN.id };
  await fake.git.commit(REPOSITORY, BRANCH, {
    "gauge.conf": "interval=10s\n",
    ".gitignore": "told\n",
    mend: `#!/bin/sh\n${AGENT}\n`,
  }, { from: "main" });
  const { number, head } = await fake.pulls.open({
    repository: REPOSITORY,
    user: bot,
    head: BRANCH,
  });
  const home = opening.use(await tempDir());
  const clone = `${home.path}/clone`;
  await git(home.path, "clone", "--quiet", fake.git.directory(REPOSITORY), clone);
  const daemon = opening.use(await startDaemon(ONE_PROGRAM));
  await daemon.apply(
    ...gitHubConnection({
      api: fake.url,
      repository: REPOSITORY,
      token: TOKEN.token,
      secret: SECRET,
    }),
    { kind: "Agent", metadata: { name: "coder" }, spec: { command: AGENT, timeout: "1m" } },
  );
  for (const text of texts(clone)) {
    const { code, stderr } = await daemon.svc(["apply", "-f", "-"], { stdin: text });
    equal(code, 0, stderr);
  }

  const send = async (event: string, payload: object) => {
    const body = JSON.stringify(payload);
    for (const path of paths) {
      const headers = githubHeaders(SECRET, body, event);
      const answer = await daemon.send(`/webhook/${path}`, { headers, body });
      equal(answer.status, 200, answer.text);
    }
  };
  const tell = async (sha: string, conclusion: string) => {
    const payload = {
      action: "completed",
      check_suite: {
        id: crypto.getRandomValues(new Uint32Array(1))[0],
        head_branch: BRANCH,
        head_sha: sha,
        status: "completed",
        conclusion,
        pull_requests: [{ number, head: { ref: BRANCH, sha }, base: { repo: { id: 1 } } }],
      },
      repository: { id: 1, full_name: REPOSITORY },
      sender: { ...bot, type: "User" }, // who has pushed: svc
    };
    await send("check_suite", payload);
  };
  const set = (sha: string, name: string, conclusion: string | null) => {
    const status = conclusion === null ? "in_progress" : "completed";
    const known = checks?.runs.find((run) => run.head_sha === sha && run.name === name);
    if (known !== undefined) return void Object.assign(known, { status, conclusion });
    checks?.runs.push({
      id: 1 + (checks?.runs.length ?? 0),
      repository: REPOSITORY,
      head_sha: sha,
      app: `${name}[bot]`,
      name,
      status,
      conclusion,
      external_id: "",
      title: "",
      summary: "",
      annotations: [],
    });
  };
  const open = opening.move();
  return {
    fake,
    daemon,
    number,
    async say(name, conclusion) {
      const { sha } = head;
      set(sha, name, conclusion);
      if (conclusion !== null) await tell(sha, conclusion);
      return sha;
    },
    pass: (name) => set(head.sha, name, "success"),
    async status(context, state) {
      const { sha } = head;
      const repository = { id: 1, full_name: REPOSITORY };
      const one = { id: crypto.getRandomValues(new Uint32Array(1))[0], sha, context, state };
      const sender = { login: "ci", id: 7, type: "User" };
      await send("status", { ...one, branches: [{ name: BRANCH }], repository, sender });
    },
    next: (known) =>
      until("the next commit", () => known.includes(head.sha) ? undefined : head.sha),
    waits: (round) =>
      until(`the wait of round ${round}`, async () => {
        const [task] = await daemon.tasks();
        const ci = task?.steps.find(({ id }) => id === "ci");
        const isThere = ci?.state === "waiting" && (ci.round ?? 1) === round;
        return isThere && task?.state === "waiting" || undefined;
      }),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

const fixes = async (daemon: TestDaemon) =>
  (await daemon.tasks()).filter(({ trigger }) => trigger.startsWith("github-fix-ci"));

programTest("docs/workflows.md: a commit is mended until CI is green", async () => {
  const page = await Deno.readTextFile(join(ROOT, "docs/workflows.md"));
  const [, example = ""] = /### Until CI is green\n\n```yaml\n(.*?)```/s.exec(page) ?? [];
  const begin = `kind: Trigger
metadata: {name: start}
spec:
  event:
    source: webhook
    webhook: {secret: {fromRef: github}, scheme: github, dedup: bytes}
    filter: {condition: payload.check_suite.conclusion == "failure"}
  concurrency: {policy: Forbid}
  action: {workflow: mend, workspace: repository}
`;
  await using rig = await rigOf({
    texts: (path) => [
      `kind: Workspace\nmetadata: {name: repository}\nspec: {path: ${path}, isolation: worktree}\n`,
      example.replace("run: ./mend", "run: sh ./mend"),
      begin,
    ],
    paths: ["start", "github-checks"],
  });
  const first = await rig.say("unit", "failure");
  const second = await rig.next([first]);
  await rig.waits(1);
  await rig.say("unit", null);
  await rig.say("lint", "success");
  await rig.waits(2);
  await rig.say("unit", "failure");
  await rig.next([first, second]);
  await rig.waits(3);
  await rig.say("unit", "success");
  const tasks = await rig.daemon.settled();
  deepEqual(tasks.map(({ state }) => state), ["succeeded"], tasks[0]?.reason);
}, { ...HOW, skip: missing("git") });

programTest("fix CI: red, still red, then green, and nobody works in between", async () => {
  await using rig = await rigOf();
  const { daemon, fake } = rig;
  const first = await rig.say("unit", "failure");
  const second = await rig.next([first]);
  await rig.waits(1);

  // One suite of two has passed: an event, and no reason to begin again.
  await rig.say("unit", null);
  await rig.say("lint", "success");
  await rig.waits(2);
  equal(await fake.git.find(REPOSITORY, `refs/heads/${BRANCH}`), second, "no commit for it");

  await rig.say("unit", "failure");
  const third = await rig.next([first, second]);
  await rig.waits(3);
  await rig.say("unit", null);
  await rig.say("lint", "success");
  await rig.waits(4);
  await rig.say("unit", "success");
  await daemon.settled();
  const all = await fixes(daemon);
  deepEqual(all.map(({ state, reason }) => [state, reason]), [["succeeded", all[0]?.reason]]);
  const log = await fake.git.run(REPOSITORY, "log", "--format=%H %an %s", `main..${BRANCH}`);
  deepEqual(log.split("\n").map((line) => line.replace(/^(\S+) /, "")), [
    `${TOKEN.login} Try once more`,
    `${TOKEN.login} Try once more`,
    log.split("\n")[2]?.replace(/^(\S+) /, "") ?? "",
  ]);
  match(log, new RegExp(`^${third} .*\n${second} .*\n${first} `));
  equal(
    await fake.git.run(REPOSITORY, "show", `${BRANCH}:gauge.conf`),
    "interval=10s\ntry 1\ntry 2",
  );
  const { stdout } = await daemon.svc(["task", "logs", all[0]?.id ?? ""]);
  equal(stdout.includes(TOKEN.token), false);
}, HOW);

programTest("fix CI: a commit status wakes it, where CI sends no suites", async () => {
  await using rig = await rigOf();
  const { daemon } = rig;
  const first = await rig.say("unit", "failure");
  await rig.next([first]);
  await rig.waits(1);
  await rig.status("unit", "pending"); // nothing has ended
  await rig.say("unit", null);
  await rig.status("lint", "success");
  await rig.waits(2);
  await rig.pass("unit");
  await rig.status("unit", "success");
  await daemon.settled();
  const [task] = await fixes(daemon);
  equal(task?.state, "succeeded", task?.reason);
  equal(task?.steps.find(({ id }) => id === "ci")?.round, 2);
}, HOW);

programTest("fix CI: what stays red ends after three commits, and says so", async () => {
  await using rig = await rigOf();
  const { daemon, fake } = rig;
  const known = [await rig.say("unit", "failure")];
  for (const round of [1, 2, 3]) {
    known.push(await rig.next(known));
    await rig.waits(round);
    await rig.say("unit", "failure");
  }
  await daemon.settled();
  const [task, ...others] = await fixes(daemon);
  deepEqual([task?.state, others], ["failed", []], task?.reason);
  const { stdout, stderr } = await daemon.svc(["task", "logs", task?.id ?? ""]);
  match(stdout + stderr, /The checks still fail after 3 commits/);
  await until("the comment", () => fake.issues.comments.length > 0 || undefined);
  equal(fake.issues.comments[0]?.issue, rig.number);
}, HOW);

programTest("fix CI: checks that have passed meanwhile need no agent", async () => {
  await using rig = await rigOf();
  const { daemon, fake } = rig;
  const sha = await rig.say("unit", "success");
  // The event of the run before comes late.
  const body = JSON.stringify({
    action: "completed",
    check_suite: {
      head_branch: BRANCH,
      head_sha: sha,
      conclusion: "failure",
      pull_requests: [{ number: rig.number }],
    },
    repository: { id: 1, full_name: REPOSITORY },
    sender: { login: TOKEN.login, id: TOKEN.id, type: "User" },
  });
  const headers = githubHeaders(SECRET, body, "check_suite");
  equal((await daemon.send("/webhook/github", { headers, body })).status, 200);
  await daemon.settled();
  const [task] = await fixes(daemon);
  equal(task?.state, "succeeded", task?.reason);
  equal(await fake.git.find(REPOSITORY, `refs/heads/${BRANCH}`), sha);
}, HOW);
