/**
 * `svc connect github --app` from outside: with the program, a stand-in for GitHub that checks tokens
 * as GitHub does, and one for the browser.
 *
 * @module
 */

import { createHmac } from "node:crypto";
import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { type FakeGitHub, fakeGitHub, type FakeState, type Route, TOKEN } from "../fakes/github.ts";
import type { FakeApp } from "../fakes/github_app.ts";
import { FakeChecks } from "../fakes/github_checks.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { NO_DATABASE, ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";
import { postForm, register, WaitingCommand } from "../rigs/register_app.ts";

const SITE = "acme/site";
const OTHER = "acme/other";
const ADA = { login: "ada", id: 77 };
const SHA = "9be7a2d05c41f386e31f6c8a47d24f0c61d2b97a";

function fake(routes: (state: FakeState) => readonly Route[] = () => []): FakeGitHub {
  const github = fakeGitHub({
    tokens: [],
    routes,
    repositories: [SITE, OTHER].map((full_name) => ({
      full_name,
      permissions: { [ADA.login]: "write" as const },
    })),
  });
  for (const repository of [SITE, OTHER]) {
    github.issues.issues.push({
      repository,
      number: 7,
      title: "A gauge",
      body: "",
      user: ADA,
      pull: { sha: SHA, commits: [SHA] },
    });
  }
  return github;
}

const connecting = (github: FakeGitHub, url: string) => {
  const app = ["connect", "github", "--app", "--org", "acme"];
  return [...app, "--api", github.url, "--url", url];
};

function connectApp(
  daemon: TestDaemon,
  github: FakeGitHub,
  args: readonly string[] = ["--url", daemon.url],
): WaitingCommand {
  const all = ["connect", "github", "--app", "--org", "acme", "--api", github.url, ...args];
  return new WaitingCommand(ONE_PROGRAM, all, { SVC_DATA_DIR: daemon.dataDir });
}

const comment = (github: FakeGitHub, repository: string, body: string) =>
  github.issues.comment({ repository, issue: 7, user: ADA, body, association: "MEMBER" });

const answering = {
  kind: "Trigger",
  metadata: { name: "answer" },
  spec: {
    event: {
      source: "webhook",
      webhook: {
        endpoint: "github",
        secret: { fromRef: "github" },
        signatureHeader: "X-Hub-Signature-256",
        connection: "acme",
        from: { permission: "write" },
        dedup: "bytes",
      },
      filter: { condition: 'has(payload.comment) && payload.comment.body.startsWith("/svc")' },
    },
    action: { workflow: "answer", workspace: "default" },
  },
};

/** What tokens were asked for since. */
function asked(github: FakeGitHub, since = 0) {
  return github.calls.slice(since).filter(({ path }) => path.endsWith("/access_tokens"))
    .map(({ body }) => body);
}

programTest(
  "an app from nothing to an answer in its name, and back",
  async (_program, t) => {
    let checks!: FakeChecks;
    await using github = fake((state) => (checks = new FakeChecks(state)).routes);
    await using daemon = await startDaemon(ONE_PROGRAM);
    let app: FakeApp | undefined;
    const theApp = () =>
      app ?? (() => {
        throw new Error("No app was registered");
      })();

    await t.step("one command, one form and one installation", async () => {
      await using command = connectApp(daemon, github);
      await register(command);
      await command.says(/install it on the repositories that svc is for: (\S+)/);
      [app] = github.apps.apps;
      github.apps.install(theApp(), "acme", { repositories: ["site"] });
      equal(await command.ended(), 0, command.stderr);
      match(command.stderr, /app svc-acme-[0-9a-f]{4} registered: http\S+\n/);
      match(command.stderr, /package github installed\n/);
      match(command.stderr, /installed on acme: some repositories\n/);
      match(command.stdout, /connection\/acme: acme is connected\n$/);
      const { hook, permissions } = theApp();
      equal(hook.config.url, `${daemon.url}/webhook/github`);
      equal(permissions["contents"], "write");
      equal(permissions["administration"], undefined);
      const pings = github.hooks.tries.filter(({ event }) => event === "ping");
      deepEqual(pings.map(({ redelivery, status_code }) => [redelivery, status_code]), [
        [false, 404], // before svc knew the app, no trigger was there
        [true, 200],
      ]);
    });

    await t.step("an event is answered, with a token for its repository alone", async () => {
      await daemon.apply(answering, {
        kind: "Workflow",
        metadata: { name: "answer" },
        spec: { steps: [{ id: "say", run: "svc github comment --text seen --wait" }] },
      });
      const before = github.calls.length;
      await comment(github, SITE, "/svc look");
      await daemon.settled();
      const answer = await until(
        "the answer",
        () => github.issues.comments.find(({ body }) => body.startsWith("seen")),
      );
      equal(answer.user.login, `${theApp().slug}[bot]`);
      deepEqual(asked(github, before), [
        {
          repositories: ["site"],
          permissions: {
            contents: "read",
            issues: "read",
            pull_requests: "read",
            metadata: "read",
          },
        },
        { repositories: ["site"], permissions: { pull_requests: "write", issues: "write" } },
      ]);
    });

    await t.step("a check run, which a personal token has not", async () => {
      await daemon.apply(answering, {
        kind: "Workflow",
        metadata: { name: "answer" },
        spec: {
          may: { github: { check: {} } },
          steps: [{
            id: "say",
            run:
              `printf '[{"path":"a.ts","start_line":3,"level":"notice","message":"Metres"}]' | ` +
              "svc github check --name svc/review --conclusion neutral --annotations - --wait",
          }],
        },
      });
      await comment(github, SITE, "/svc check");
      await daemon.settled();
      const [run] = checks.runs;
      deepEqual([run?.name, run?.conclusion, run?.head_sha], ["svc/review", "neutral", SHA]);
      deepEqual(run?.annotations, [{
        path: "a.ts",
        start_line: 3,
        end_line: 3,
        annotation_level: "notice",
        message: "Metres",
      }]);
      equal(run?.app, `${theApp().slug}[bot]`);
    });

    await t.step("an event of another account starts nothing", async () => {
      const before = (await daemon.tasks()).length;
      const payload = JSON.stringify({
        action: "created",
        issue: { number: 7 },
        comment: { id: 1, body: "/svc look", user: ADA },
        repository: { full_name: "stranger/site" },
        sender: { ...ADA, type: "User" },
      });
      await github.hooks.deliver(theApp().hook, { event: "issue_comment", payload });
      const shown = await daemon.svc(["get", "deliveries", "-o", "wide"]);
      match(shown.stdout, /is of stranger\/site, which Connection "acme" to acme does not cover/);
      const started = (await daemon.tasks()).length - before;
      equal(started, 1, "only the trigger of the package, which names no Connection");
    });

    await t.step("an event that was lost comes again out of the app's log", async () => {
      const payload = github.issues.payload("created", {
        id: 5,
        repository: SITE,
        issue: 7,
        user: ADA,
        body: "/svc again",
        created_at: "2026-01-01T00:00:00Z",
        updated_at: "2026-01-01T00:00:00Z",
      });
      await github.hooks.deliver(theApp().hook, { event: "issue_comment", payload, lost: true });
      const repaired = await daemon.svc(["connection", "repair", "acme", "-o", "json"]);
      equal(repaired.code, 0, repaired.stderr);
      equal(JSON.parse(repaired.stdout).repaired, 1);
    });

    await t.step("run again, it changes only what differs", async () => {
      const again = await daemon.svc(connecting(github, daemon.url));
      equal(again.code, 0, again.stderr);
      match(again.stdout, /acme is connected, nothing had to be changed\n$/);
      theApp().hook.config.url = "https://elsewhere.example.com/";
      theApp().hook.config.secret = "another one";
      const mended = await daemon.svc(connecting(github, daemon.url));
      equal(mended.code, 0, mended.stderr);
      match(mended.stderr, /set: its address was https:\/\/elsewhere/);
      equal(theApp().hook.config.secret, theApp().webhook_secret);
    });

    await t.step("no key, secret or token is to be seen", async () => {
      const shown = [
        JSON.stringify(await daemon.json("get", "all")),
        JSON.stringify(await daemon.json("get", "control-audits")),
        daemon.log,
      ].join("\n");
      const [, line = ""] = theApp().pem.split("\n");
      ok(line.length > 40 && !shown.includes(line));
      ok(!shown.includes(theApp().webhook_secret));
      ok(!/ghs_[0-9]/.test(shown));
    });

    await t.step("suspended, it is broken at once", async () => {
      const [installation] = github.apps.installations;
      ok(installation !== undefined);
      await github.apps.suspend(installation);
      await until("the fault", async () => {
        const { stdout } = await daemon.svc(["status"]);
        return /app svc-acme-\S+ is suspended on acme/.test(stdout) || undefined;
      });
      match(daemon.log, /a Connection is broken/);
      installation.suspended = false;
      await github.apps.tell(installation, "unsuspend");
      await until("its end", async () => {
        const { stdout } = await daemon.svc(["status"]);
        return !/is suspended/.test(stdout) || undefined;
      });
    });

    await t.step("disconnected, the app stays until its owner deletes it", async () => {
      const done = await daemon.svc(["disconnect", "acme", "--yes"]);
      equal(done.code, 0, done.stderr);
      match(
        done.stderr,
        /the app still exists, delete it: \S+\/settings\/apps\/svc-acme-\S+\/advanced/,
      );
      match(done.stdout, /connection\/acme deleted\nsecretstore\/acme deleted\n/);
    });
  },
  { fileOnly: NO_DATABASE },
);

programTest("a check run through a personal token is refused with what to do", async () => {
  await using github = fakeGitHub({ repositories: [{ full_name: SITE }] });
  await using daemon = await startDaemon(ONE_PROGRAM);
  const { event, ...rest } = answering.spec;
  const { connection: _, from: __, ...webhook } = event.webhook;
  await daemon.apply(
    { kind: "SecretStore", metadata: { name: "acme" }, spec: { data: { token: TOKEN.token } } },
    { kind: "SecretStore", metadata: { name: "github" }, spec: { data: { acme: "signs" } } },
    {
      kind: "Connection",
      metadata: { name: "acme" },
      spec: {
        github: {
          api: github.url,
          organization: "acme",
          token: { fromSecret: { store: "acme", key: "token" } },
        },
      },
    },
    { ...answering, spec: { ...rest, event: { ...event, webhook } } },
    {
      kind: "Workflow",
      metadata: { name: "answer" },
      spec: {
        may: { github: { check: {} } },
        steps: [{ id: "say", run: "svc github check --name svc/review" }],
      },
    },
  );
  const body = JSON.stringify({
    after: SHA,
    comment: { body: "/svc check" },
    repository: { full_name: SITE },
  });
  const signature = createHmac("sha256", "signs").update(body).digest("hex");
  const headers = {
    "x-hub-signature-256": `sha256=${signature}`,
    "content-type": "application/json",
  };
  equal((await daemon.send("/webhook/github", { body, headers })).status, 200);
  const [task] = await daemon.settled();
  equal(task?.state, "failed");
  const logs = await daemon.svc(["task", "logs", task?.id ?? ""]);
  match(logs.stdout, /Connection "acme" has a personal token, and only an app can have check runs/);
}, { fileOnly: NO_DATABASE });

programTest("an app without a public address, registered by copying", async () => {
  await using github = fake();
  await using daemon = await startDaemon(ONE_PROGRAM);
  await using command = connectApp(daemon, github, ["--pull", "--paste"]);
  const page = await command.says(/data:text\/html;base64,(\S+)\n/);
  const back = await postForm(new TextDecoder().decode(Uint8Array.fromBase64(page)));
  match(back, /^https:\/\/svc\.invalid\/github-app\?code=/);
  await command.type(back);
  await command.says(/install it on/);
  const [app] = github.apps.apps;
  ok(app !== undefined);
  equal(app.hook.config.url, "https://svc.invalid/webhook/github");
  github.apps.install(app, "acme");
  equal(await command.ended(), 0, command.stderr);
  match(command.stdout, /its log is read every 15 seconds/);
  await comment(github, SITE, "look at this");
  await until("the task", async () => (await daemon.tasks())[0]);
  const code = new URL(back).searchParams.get("code");
  const twice = await fetch(`${github.url}/app-manifests/${code}/conversions`, { method: "POST" });
  equal(twice.status, 404, "a code works once");
  await twice.body?.cancel();
}, { fileOnly: NO_DATABASE });
