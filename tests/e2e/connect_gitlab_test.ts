/**
 * `svc connect gitlab` and `svc disconnect` from outside: with the program, against a stand-in for
 * GitLab's API.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { BOT, GITLAB_PROJECT, GITLAB_TOKEN } from "../fakes/gitlab.ts";
import { type HookedGitLab, hookedGitLab } from "../fakes/gitlab_hooks.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import {
  NO_DATABASE,
  ONE_PROGRAM,
  programTest,
  type RunResult,
  slowTest,
} from "../helpers/program.ts";
import { missing } from "../helpers/requirements.ts";

function connect(
  daemon: TestDaemon,
  gitlab: HookedGitLab,
  { args = [], token = GITLAB_TOKEN.token, url = daemon.url, to = [GITLAB_PROJECT] }: {
    args?: readonly string[];
    token?: string | undefined;
    url?: string;
    to?: readonly string[];
  } = {},
): Promise<RunResult> {
  const own = ["connect", "gitlab", ...to, "--api", gitlab.url, "--url", url];
  const given = token === "" ? [] : ["--token", "-"];
  return daemon.svc([...own, ...given, ...args], token === "" ? {} : { stdin: `${token}\n` });
}

const hooksOf = (gitlab: HookedGitLab) => [...gitlab.hooks.hooks.values()];

function push(gitlab: HookedGitLab, path = GITLAB_PROJECT, n = 1) {
  const project = gitlab.state.projectAt(path);
  ok(project !== undefined);
  const payload = {
    object_kind: "push",
    ref: `refs/heads/branch-${n}`,
    before: "a".repeat(40),
    after: "b".repeat(40),
    user_id: 77,
    user_username: "ada-pereira",
    user_email: "ada@example.com",
    total_commits_count: 1,
    project: gitlab.state.shownProject(project),
    commits: [{ id: "b".repeat(40), message: "One\n", author: { name: "Ada" } }],
  };
  return gitlab.hooks.send({ project, event: "Push Hook", payload });
}

programTest(
  "one command from nothing to an event of GitLab that starts a task, and back",
  async (_program, t) => {
    await using gitlab = await hookedGitLab();
    await using daemon = await startDaemon(ONE_PROGRAM);

    await t.step("everything is made, and the test arrives and starts nothing", async () => {
      const made = await connect(daemon, gitlab);
      equal(made.code, 0, made.stderr);
      match(made.stderr, /token of svc-bot\n/);
      match(made.stderr, /package gitlab installed/);
      match(
        made.stderr,
        /webhook \d+ of endpoint gitlab created: push, note, merge_request, release/,
      );
      match(made.stdout, /connection\/tidepool: brightwater\/harbour\/tidepool is connected/);
      const [hook, ...more] = hooksOf(gitlab);
      deepEqual(more, []);
      match(hook?.signing_token ?? "", /^whsec_/);
      ok(hook?.token !== hook?.signing_token && hook?.token !== "");
      deepEqual((await daemon.settled()).length, 0);
    });

    await t.step("an event starts its task", async () => {
      deepEqual((await push(gitlab)).map(({ status }) => status), [200]);
      const tasks = await daemon.settled();
      deepEqual(tasks.map(({ trigger, state }) => [trigger, state]), [[
        "gitlab-push",
        "succeeded",
      ]]);
      const [item] = await daemon.json("get", "connections") as {
        status: Record<string, unknown>;
      }[];
      deepEqual([item?.status["login"], item?.status["fault"]], ["svc-bot", null]);
      ok(item?.status["last_event_at"] !== null);
    });

    await t.step("where GitLab signs, the mere token is not enough", async () => {
      const [hook] = hooksOf(gitlab);
      ok(hook !== undefined);
      const copied = { ...hook, id: 1, signing_token: "" };
      const tried = await gitlab.hooks.execute(copied, {
        event: "Push Hook",
        payload: { object_kind: "push" },
      });
      equal(tried.status, 401);
      const other = { ...hook, id: 1, signing_token: `whsec_${btoa("x".repeat(32))}` };
      const signed = await gitlab.hooks.execute(other, { event: "Push Hook", payload: {} });
      equal(signed.status, 401);
    });

    await t.step("run again, it changes nothing and needs no token", async () => {
      const before = JSON.stringify(hooksOf(gitlab));
      const again = await connect(daemon, gitlab, { token: "" });
      equal(again.code, 0, again.stderr);
      match(again.stdout, /is connected, nothing had to be changed\n$/);
      equal(JSON.stringify(hooksOf(gitlab)), before);
      equal((await daemon.settled()).length, 1);
    });

    await t.step("a webhook changed by hand is corrected, with a message", async () => {
      const [hook] = hooksOf(gitlab);
      ok(hook !== undefined);
      const signing = hook.signing_token;
      hook.signing_token = "";
      hook.enable_ssl_verification = false;
      hook.custom_webhook_template = '{"event":"{{object_kind}}"}';
      hook.events["note_events"] = false;
      hook.events["issues_events"] = true;
      const mended = await connect(daemon, gitlab, { token: "" });
      equal(mended.code, 0, mended.stderr);
      match(
        mended.stderr,
        /repaired: it did not check certificates, it had a template .*, it was not signed, it did not send note/,
      );
      equal(hook.signing_token, signing);
      ok(hook.events["note_events"] && hook.events["issues_events"]);
      equal(hook.custom_webhook_template, "");
      hook.signing_token = `whsec_${btoa("y".repeat(32))}`;
      const secretly = await connect(daemon, gitlab, { token: "" });
      equal(secretly.code, 0, secretly.stderr);
      match(secretly.stderr, /GitLab signed with another secret: svc set it again/);
      equal(hook.signing_token, signing);
    });

    await t.step("neither token is anywhere to be seen", async () => {
      const [hook] = hooksOf(gitlab);
      const shown = [
        JSON.stringify(await daemon.json("get", "all")),
        JSON.stringify(await daemon.json("get", "control-audits")),
        daemon.log,
      ].join("\n");
      for (const secret of [GITLAB_TOKEN.token, hook?.signing_token ?? "-", hook?.token ?? "-"]) {
        ok(!shown.includes(secret));
      }
      match(shown, /connect\.gitlab/);
    });

    await t.step("disconnected, the webhook is gone and the triggers are not", async () => {
      const done = await daemon.svc(["disconnect", "tidepool", "--yes"]);
      equal(done.code, 0, done.stderr);
      match(done.stderr, /webhook \d+ deleted/);
      match(done.stderr, /the token still works, revoke it: .*\/-\/settings\/access_tokens/);
      deepEqual(hooksOf(gitlab), []);
      const names = await daemon.svc(["get", "triggers,connections", "-o", "name"]);
      match(names.stdout, /trigger\/gitlab-push/);
      ok(!names.stdout.includes("connection/"));
    });
  },
  { skip: missing("git") },
);

slowTest(
  "a GitLab without signing tokens is verified by the token, until it signs",
  async (_program, t) => {
    const old = { signs: false, testsTokens: false };
    await using gitlab = await hookedGitLab({}, old);
    await using daemon = await startDaemon(ONE_PROGRAM);
    const made = await connect(daemon, gitlab);
    equal(made.code, 0, made.stderr);
    const [hook] = hooksOf(gitlab);
    ok(hook !== undefined);
    equal(hook.signing_token, "");
    deepEqual((await push(gitlab)).map(({ status }) => status), [200]);
    const again = await connect(daemon, gitlab, { token: "" });
    match(again.stdout, /nothing had to be changed/);
    await t.step("another token is refused", async () => {
      const tried = await gitlab.hooks.execute({ ...hook, id: 1, token: "guessed" }, {
        event: "Push Hook",
        payload: { object_kind: "push" },
      });
      equal(tried.status, 401);
    });
    await t.step("once it can sign, it is made to", async () => {
      old.signs = true;
      const signed = await connect(daemon, gitlab, { token: "" });
      equal(signed.code, 0, signed.stderr);
      match(signed.stderr, /repaired: it was not signed/);
      match(hook.signing_token, /^whsec_/);
      deepEqual((await push(gitlab, GITLAB_PROJECT, 2)).map(({ status }) => status), [200]);
      const mere = await gitlab.hooks.execute({ ...hook, id: 1, signing_token: "" }, {
        event: "Push Hook",
        payload: { object_kind: "push" },
      });
      equal(mere.status, 401);
    });
  },
);

slowTest(
  "what is wrong with the token or the name at GitLab is said, and nothing is made",
  async (_program, t) => {
    const reader = { id: 8, username: "reader" };
    const developer = { id: 9, username: "developer" };
    await using gitlab = await hookedGitLab({
      users: [BOT, reader, developer],
      tokens: [
        { ...GITLAB_TOKEN, expires_at: "2030-01-02" },
        { token: "glpat-read", user: reader.id, scopes: ["read_api"] },
        { token: "glpat-dev", user: developer.id },
        { token: "glpat-ended", user: BOT.id, ended: "expired" },
      ],
      projects: { [GITLAB_PROJECT]: {}, "brightwater/old": { archived: true } },
      members: { brightwater: { [BOT.id]: 40, [reader.id]: 40, [developer.id]: 30 } },
    });
    await using daemon = await startDaemon(ONE_PROGRAM);
    const cases: readonly (readonly [string, Parameters<typeof connect>[2], RegExp, number?])[] = [
      ["a wrong token", { token: "glpat-wrong" }, /refuses the token \(401 Unauthorized\)/],
      ["a token that has ended", { token: "glpat-ended" }, /refuses the token/],
      [
        "only reading",
        { token: "glpat-read" },
        /has the scope read_api: make one with the scope api/,
      ],
      ["a role that is too low", { token: "glpat-dev" }, /developer must have the role Maintainer/],
      [
        "no such project",
        { to: ["brightwater/gone"] },
        /has no \/projects\/brightwater%2Fgone for/,
      ],
      ["an archived one", { to: ["brightwater/old"] }, /is archived at GitLab/],
      ["an unknown event", { args: ["--event", "star"] }, /events/],
      [
        "no token at all",
        { token: "" },
        /The token of GitLab is missing: give it with --token -/,
        2,
      ],
      ["both", { args: ["--group", "brightwater"] }, /Name one GROUP\/PROJECT, or one group/, 2],
    ];
    for (const [name, given, expected, code = 1] of cases) {
      await t.step(name, async () => {
        const result = await connect(daemon, gitlab, given);
        match(result.stderr, expected);
        equal(result.code, code, result.stderr);
        deepEqual(hooksOf(gitlab), []);
        const left = await daemon.svc(["get", "connections,triggers,secretstores", "-o", "name"]);
        equal(left.stdout, "");
      });
    }
    await t.step("the end of a token is remembered", async () => {
      const made = await connect(daemon, gitlab);
      equal(made.code, 0, made.stderr);
      match(made.stderr, /token of svc-bot, expires in \d+d/);
      const [item] = await daemon.json("get", "connections") as {
        status: Record<string, unknown>;
      }[];
      equal(item?.status["token_expires_at"], "2030-01-02T00:00:00.000Z");
    });
  },
  { fileOnly: NO_DATABASE },
);

slowTest(
  "a way from GitLab that does not work is named, and works once it is corrected",
  async (_program, t) => {
    await using gitlab = await hookedGitLab();
    await using daemon = await startDaemon(ONE_PROGRAM);
    let answer: (request: Request) => Response | Promise<Response> = () => new Response("");
    const ended = new AbortController();
    const proxy = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {}, signal: ended.signal },
      (request) => answer(request),
    );
    const url = `http://127.0.0.1:${(proxy.addr as Deno.NetAddr).port}`;
    const pass = (prefix = "") => async (request: Request) => {
      const to = `${daemon.url}${prefix}${new URL(request.url).pathname}`;
      return await fetch(to, {
        method: "POST",
        body: await request.text(),
        headers: request.headers,
      });
    };
    const cases: readonly (readonly [string, typeof answer, RegExp])[] = [
      ["no daemon", () => new Response("", { status: 502 }), /answered 502: the proxy/],
      ["another path", pass("/x"), /at a path that has no trigger/],
      ["a login page", () => new Response("", { status: 401 }), /asks GitLab for a login/],
      ["another server", () => new Response("ok"), /something else answers there/],
    ];
    try {
      for (const [name, given, expected] of cases) {
        await t.step(name, async () => {
          answer = given;
          const result = await connect(daemon, gitlab, { url });
          equal(result.code, 1, result.stderr);
          match(result.stdout, expected);
        });
      }
      await t.step("nothing there at all", async () => {
        const result = await connect(daemon, gitlab, {
          url: "http://127.0.0.1:9",
          args: ["-o", "json"],
        });
        equal(result.code, 1, result.stderr);
        equal(JSON.parse(result.stdout).check.fault, "refused");
      });
      await t.step("mended, though GitLab had switched the webhook off", async () => {
        answer = pass();
        const [hook] = hooksOf(gitlab);
        ok(hook !== undefined);
        hook.failures = 40;
        const result = await connect(daemon, gitlab, { url });
        equal(result.code, 0, result.stderr);
        match(result.stderr, /repaired: its address was http:\/\/127\.0\.0\.1:9\//);
        equal(hook.failures, 0);
      });
    } finally {
      ended.abort();
      await proxy.finished;
    }
  },
  { fileOnly: NO_DATABASE },
);

for (const groups of [true, false]) {
  slowTest(
    `a group is connected ${groups ? "by one webhook" : "by a webhook in each of its projects"}`,
    async () => {
      const paths = ["brightwater/a", "brightwater/harbour/b"];
      await using gitlab = await hookedGitLab({
        projects: { [paths[0] ?? ""]: {}, [paths[1] ?? ""]: {}, "other/c": {} },
        members: { brightwater: { [BOT.id]: groups ? 50 : 40 } },
      }, { groups });
      await using daemon = await startDaemon(ONE_PROGRAM);
      const to = ["--group", "brightwater"];
      const made = await connect(daemon, gitlab, { to });
      equal(made.code, 0, made.stderr);
      deepEqual(hooksOf(gitlab).map(({ of }) => of), groups ? ["brightwater"] : paths);
      equal(/note: brightwater has no webhooks of its own/.test(made.stderr), !groups);
      for (const path of paths) {
        deepEqual((await push(gitlab, path)).map(({ status }) => status), [200]);
      }
      equal((await daemon.settled()).length, 2);
      const again = await connect(daemon, gitlab, { to, token: "" });
      match(again.stdout, /nothing had to be changed\n$/);
      const undone = await daemon.svc(["disconnect", "brightwater", "--yes"]);
      equal(undone.code, 0, undone.stderr);
      deepEqual(hooksOf(gitlab), []);
    },
  );
}
