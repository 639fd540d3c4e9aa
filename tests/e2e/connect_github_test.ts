/**
 * `svc connect github` and `svc disconnect` from outside: with the program, against a stand-in for
 * GitHub's API.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { type FakeGitHub, fakeGitHub, TOKEN } from "../fakes/github.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import {
  NO_DATABASE,
  ONE_PROGRAM,
  programTest,
  type RunResult,
  slowTest,
} from "../helpers/program.ts";

const REPOSITORY = "brightwater/tidepool";

function connect(
  daemon: TestDaemon,
  github: FakeGitHub,
  { args = [], token = TOKEN.token, url = daemon.url, to = REPOSITORY }: {
    args?: readonly string[];
    token?: string | undefined;
    url?: string;
    to?: string;
  } = {},
): Promise<RunResult> {
  const own = ["connect", "github", to, "--api", github.url, "--url", url];
  const given = token === "" ? [] : ["--token", "-"];
  return daemon.svc([...own, ...given, ...args], token === "" ? {} : { stdin: `${token}\n` });
}

const hooksOf = (github: FakeGitHub) => [...github.hooks.hooks.values()];

programTest(
  "one command from nothing to an event that starts a task, and back",
  async (_program, t) => {
    await using github = fakeGitHub();
    await using daemon = await startDaemon(ONE_PROGRAM);

    await t.step("everything is made, and the ping arrives", async () => {
      const made = await connect(daemon, github);
      equal(made.code, 0, made.stderr);
      match(made.stderr, /token of svc-bot\n/);
      match(made.stderr, /package github installed/);
      match(made.stderr, /webhook \d+ of endpoint [a-z-]+ created/);
      match(made.stdout, /secretstore\/tidepool created\n/);
      match(made.stdout, /connection\/tidepool: brightwater\/tidepool is connected\n$/);
      ok(hooksOf(github).every(({ active, config }) => active && config.secret?.length === 64));
    });

    await t.step("an event starts its task", async () => {
      const payload = JSON.stringify({
        ref: "refs/heads/main",
        pusher: { name: "ada" },
        commits: [],
        compare: "https://github.com/brightwater/tidepool/compare/a...b",
        deleted: false,
        forced: false,
        repository: { full_name: REPOSITORY },
      });
      const tries = await github.hooks.send(REPOSITORY, { event: "push", payload });
      ok(tries.every(({ status_code }) => status_code === 200));
      const tasks = await daemon.settled();
      deepEqual(tasks.map(({ trigger, state }) => [trigger, state]), [[
        "github-push",
        "succeeded",
      ]]);
      await daemon.json("get", "connections");
      const [item] = await daemon.json("get", "connections") as {
        status: Record<string, unknown>;
      }[];
      equal(item?.status["login"], "svc-bot");
      equal(item?.status["fault"], null);
      ok(item?.status["last_event_at"] !== null);
    });

    await t.step("run again, it changes nothing and needs no token", async () => {
      const before = JSON.stringify(hooksOf(github));
      const resources = async () => JSON.stringify(await daemon.json("get", "all"));
      const was = await resources();
      const again = await connect(daemon, github, { token: "" });
      equal(again.code, 0, again.stderr);
      match(again.stdout, /is connected, nothing had to be changed\n$/);
      equal(JSON.stringify(hooksOf(github)), before);
      equal(
        (await resources()).replaceAll(/"last_event_at":"[^"]*"/g, ""),
        was.replaceAll(/"last_event_at":"[^"]*"/g, ""),
      );
    });

    await t.step("a webhook changed by hand is corrected, with a message", async () => {
      const [hook] = hooksOf(github);
      ok(hook !== undefined);
      const secret = hook.config.secret;
      hook.active = false;
      hook.events = ["push", "star"];
      hook.config = { ...hook.config, content_type: "form", secret: "another one" };
      const mended = await connect(daemon, github, { token: "" });
      equal(mended.code, 0, mended.stderr);
      match(
        mended.stderr,
        /repaired: it was switched off, its content type was "form", it did not/,
      );
      equal(hook.config.secret, secret);
      ok(hook.active && hook.events.includes("star") && hook.events.includes("release"));
      hook.config = { ...hook.config, secret: "another one" };
      const secretly = await connect(daemon, github, { token: "" });
      equal(secretly.code, 0, secretly.stderr);
      match(secretly.stderr, /GitHub signed with another secret: svc set it again/);
      equal(hook.config.secret, secret);
    });

    await t.step("the token is nowhere to be seen", async () => {
      const shown = [
        JSON.stringify(await daemon.json("get", "all")),
        JSON.stringify(await daemon.json("get", "control-audits")),
        daemon.log,
      ].join("\n");
      ok(!shown.includes(TOKEN.token));
      match(shown, /connect\.github/);
    });

    await t.step("disconnected, the webhooks are gone and the triggers are not", async () => {
      const [first] = hooksOf(github);
      github.hooks.hooks.delete(first?.id ?? 0);
      const done = await daemon.svc(["disconnect", "tidepool", "--yes"]);
      equal(done.code, 0, done.stderr);
      match(done.stderr, /webhook \d+ no longer existed/);
      match(done.stdout, /connection\/tidepool deleted\nsecretstore\/tidepool deleted\n/);
      match(done.stderr, /the token still works, revoke it: /);
      deepEqual(hooksOf(github), []);
      const names = await daemon.svc(["get", "triggers,connections", "-o", "name"]);
      match(names.stdout, /trigger\/github-push/);
      ok(!names.stdout.includes("connection/"));
      equal((await daemon.svc(["disconnect", "tidepool", "--yes"])).code, 4);
    });

    await t.step("--all also removes the installed integration", async () => {
      const made = await connect(daemon, github);
      equal(made.code, 0, made.stderr);
      const done = await daemon.svc(["disconnect", "tidepool", "--all", "--yes", "-o", "json"]);
      equal(done.code, 0, done.stderr);
      ok(JSON.parse(done.stdout).deleted.includes("trigger/github-push"));
      const names = await daemon.svc(["get", "triggers,connections,secretstores", "-o", "name"]);
      equal(names.stdout, "");
    });
  },
);

slowTest(
  "what is wrong with the token or the name is said, and nothing is made",
  async (_program, t) => {
    const expires = "2030-01-02 03:04:05 UTC";
    await using github = fakeGitHub({
      tokens: [
        { ...TOKEN, expires },
        { token: "ghp_reader", login: "reader", id: 7, permissions: ["repository_hooks=read"] },
        { token: "ghp_none", login: "none", id: 8, permissions: [] },
      ],
    });
    await using daemon = await startDaemon(ONE_PROGRAM);
    const cases: readonly (readonly [string, Parameters<typeof connect>[2], RegExp])[] = [
      [
        "a wrong token",
        { token: "ghp_wrong" },
        /refuses the token \(Bad credentials\): it is wrong/,
      ],
      [
        "a right is missing",
        { token: "ghp_none" },
        /the token needs the permission repository_hooks=read/,
      ],
      [
        "only reading",
        { token: "ghp_reader" },
        /the token needs the permission repository_hooks=write/,
      ],
      [
        "no such repository",
        { to: "brightwater/gone" },
        /has no \/repos\/brightwater\/gone for this/,
      ],
      ["no token at all", { token: "" }, /The token of GitHub is missing: give it with --token -/],
      [
        "a token with a line break",
        { token: "ghp_a\nb" },
        /has characters that tokens cannot have/,
      ],
    ];
    for (const [name, given, expected] of cases) {
      await t.step(name, async () => {
        const result = await connect(daemon, github, given);
        match(result.stderr, expected);
        equal(result.code, name === "no token at all" ? 2 : 1, result.stderr);
        deepEqual(hooksOf(github), []);
        const left = await daemon.svc(["get", "connections,triggers,secretstores", "-o", "name"]);
        equal(left.stdout, "");
      });
    }
    await t.step("a token on the command line is not taken", async () => {
      const args = ["connect", "github", REPOSITORY, "--url", daemon.url, "--token", TOKEN.token];
      const result = await daemon.svc(args);
      equal(result.code, 2);
      match(result.stderr, /Other users see the command line/);
      ok(!result.stderr.includes(TOKEN.token));
    });
    await t.step("a server without a log cannot be read from", async () => {
      const api = `${github.url}/api/v1`;
      const args = ["connect", "github", REPOSITORY, "--pull", "--api", api, "--token", "-"];
      const result = await daemon.svc(args, { stdin: TOKEN.token });
      equal(result.code, 1);
      match(result.stderr, /Gitea and Forgejo keep no log of what they sent/);
    });
    await t.step("a rate limit is said, with its pause", async () => {
      github.interfere = () =>
        new Response('{"message":"API rate limit exceeded"}', {
          status: 403,
          headers: { "retry-after": "30" },
        });
      const result = await connect(daemon, github);
      github.interfere = undefined;
      equal(result.code, 1);
      match(result.stderr, /limits the rate of calls, and asks for a pause of 30 s/);
    });
    await t.step("a repository that was renamed is said to be", async () => {
      github.interfere = ({ path }) =>
        path === `/repos/${REPOSITORY}` ? new Response("", { status: 301 }) : undefined;
      const result = await connect(daemon, github);
      github.interfere = undefined;
      equal(result.code, 1);
      match(
        result.stderr,
        /has moved: the repository was renamed or transferred, write its new name/,
      );
    });
    await t.step("the end of a token is remembered", async () => {
      const made = await connect(daemon, github);
      equal(made.code, 0, made.stderr);
      match(made.stderr, /token of svc-bot, expires in \d+d/);
      const [item] = await daemon.json("get", "connections") as {
        status: Record<string, unknown>;
      }[];
      equal(item?.status["token_expires_at"], "2030-01-02T03:04:05.000Z");
      const other = await connect(daemon, github, { args: ["--name", "tidepool"], to: "acme/app" });
      match(
        other.stderr,
        /Connection "tidepool" is to brightwater\/tidepool: give this one another name/,
      );
    });
  },
  { fileOnly: NO_DATABASE },
);

slowTest(
  "a path that does not work is named, and works once it is corrected",
  async (_program, t) => {
    await using github = fakeGitHub();
    await using daemon = await startDaemon(ONE_PROGRAM);
    let answer: (request: Request) => Response | Promise<Response> = () => new Response("");
    const ended = new AbortController();
    const proxy = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {}, signal: ended.signal },
      (request) => answer(request),
    );
    const url = `http://127.0.0.1:${(proxy.addr as Deno.NetAddr).port}`;
    const pass = (change: (body: string) => string = (body) => body, prefix = "") =>
    async (
      request: Request,
    ) => {
      const to = `${daemon.url}${prefix}${new URL(request.url).pathname}`;
      const body = change(await request.text());
      return await fetch(to, { method: "POST", body, headers: request.headers });
    };
    const cases: readonly (readonly [string, typeof answer, RegExp])[] = [
      [
        "a proxy without a daemon",
        () => new Response("", { status: 502 }),
        /answered 502: the proxy/,
      ],
      ["a path that is not passed on", () => new Response("", { status: 404 }), /does not pass on/],
      [
        "a path that is changed",
        pass(undefined, "/x"),
        /at a path that has no trigger/,
      ],
      ["a login page", () => new Response("", { status: 401 }), /asks GitHub for a login/],
      ["another server", () => new Response("ok"), /something else answers there/],
      ["a body that is written anew", pass((body) => `${body} `), /changes the body/],
    ];
    try {
      for (const [name, given, expected] of cases) {
        await t.step(name, async () => {
          answer = given;
          const result = await connect(daemon, github, { url });
          equal(result.code, 1, result.stderr);
          match(result.stdout, expected);
        });
      }
      await t.step("nothing there at all", async () => {
        const result = await connect(daemon, github, {
          url: "http://127.0.0.1:9",
          args: ["-o", "json"],
        });
        equal(result.code, 1, result.stderr);
        equal(JSON.parse(result.stdout).check.fault, "refused");
      });
      await t.step("mended", async () => {
        answer = pass();
        const result = await connect(daemon, github, { url });
        equal(result.code, 0, result.stderr);
        match(result.stderr, /repaired: its address was http:\/\/127\.0\.0\.1:9\//);
      });
    } finally {
      ended.abort();
      await proxy.finished;
    }
  },
  { fileOnly: NO_DATABASE },
);

slowTest(
  "an organization is connected as a repository is, for all of its repositories",
  async () => {
    await using github = fakeGitHub();
    await using daemon = await startDaemon(ONE_PROGRAM);
    const made = await connect(daemon, github, { to: "brightwater" });
    equal(made.code, 0, made.stderr);
    match(made.stdout, /connection\/brightwater: brightwater is connected\n$/);
    deepEqual(hooksOf(github).map(({ of }) => of), ["orgs/brightwater"]);
    const payload = JSON.stringify({
      ref: "refs/heads/main",
      pusher: { name: "ada" },
      commits: [],
      repository: { full_name: REPOSITORY },
    });
    const [tried] = await github.hooks.send(REPOSITORY, { event: "push", payload });
    equal(tried?.status_code, 200);
    equal((await daemon.settled()).length, 1);
    const again = await connect(daemon, github, { to: "brightwater", token: "" });
    match(again.stdout, /nothing had to be changed\n$/);
    const stranger = await connect(daemon, github, { to: "nobody" });
    equal(stranger.code, 1);
    match(stranger.stderr, /has no \/orgs\/nobody for this token/);
    const undone = await daemon.svc(["disconnect", "brightwater", "--yes"]);
    equal(undone.code, 0, undone.stderr);
    equal(github.hooks.hooks.size, 0);
  },
);
