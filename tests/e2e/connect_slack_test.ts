/**
 * `svc connect slack` from outside: with the program, against a stand-in for Slack, and a daemon that
 * listens nowhere.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { APP_TOKEN, BOT_TOKEN, type FakeSlack, fakeSlack, refusal } from "../fakes/slack.ts";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import {
  NO_DATABASE,
  ONE_PROGRAM,
  programTest,
  type RunResult,
  slowTest,
} from "../helpers/program.ts";
import { slackMessage } from "../helpers/slack.ts";
import { until } from "../helpers/until.ts";

const NO_LISTENER = { args: ["--webhook-bind", "none"] };

function connect(
  daemon: TestDaemon,
  slack: FakeSlack,
  { bot = BOT_TOKEN.token, app = APP_TOKEN.token, args = [] }: {
    bot?: string;
    app?: string;
    args?: readonly string[];
  } = {},
): Promise<RunResult> {
  const tokens = bot === "" ? [] : ["--bot-token", "env", "--app-token", "env"];
  return daemon.svc(["connect", "slack", "--api", slack.url, ...tokens, ...args], {
    env: { SLACK_BOT_TOKEN: bot, SLACK_APP_TOKEN: app },
  });
}

const mention = (text: string, ts: string) =>
  JSON.parse(slackMessage({ text, ts, type: "app_mention" }));

programTest(
  "one command from two tokens to a mention that starts a task, and back",
  async (program) => {
    await using slack = fakeSlack();
    await using directory = await initDataDirectory(program);
    let daemon = await startDaemon(program, { ...NO_LISTENER, directory });
    const made = await connect(daemon, slack);
    equal(made.code, 0, made.stderr);
    match(made.stderr, /bot token of svc in Fake\n/);
    match(made.stderr, /package slack installed/);
    match(made.stdout, /connection\/slack: slack is connected: write to the app/);
    ok(!`${made.stdout}${made.stderr}`.includes("fake-0123456789"));

    const [line] = slack.lines;
    ok(await line?.deliver({ payload: mention("<@U0BOT> deploy", "1700000000.000100") }));
    await until("the task", async () => (await daemon.tasks())[0]); // after the acknowledgement
    const tasks = await daemon.settled();
    deepEqual(tasks.map(({ trigger, state }) => [trigger, state]), [[
      "slack-mention",
      "succeeded",
    ]]);

    // The bot of the Connection answers: the triggers of the package name no token.
    const reply = await daemon.svc(["slack", "reply", tasks[0]?.id ?? "", "--text", "<done>"]);
    equal(reply.code, 0, reply.stderr);
    const post = await until(
      "the post",
      () => slack.calls.find(({ method }) => method === "chat.postMessage"),
    );
    deepEqual([post.token, post.body["channel"], post.body["thread_ts"], post.body["text"]], [
      BOT_TOKEN.token,
      "C0001",
      "1700000000.000100",
      "&lt;done&gt;",
    ]);
    const [item] = await daemon.json("get", "connections") as { status: Record<string, unknown> }[];
    equal(item?.status["login"], "svc");
    ok(item?.status["connected_since"] !== null && item?.status["last_event_at"] !== null);

    const resources = async () =>
      JSON.stringify(await daemon.json("get", "all")).replaceAll(/"last_event_at":"[^"]*"/g, "");
    const was = await resources();
    const again = await connect(daemon, slack, { bot: "" });
    equal(again.code, 0, again.stderr);
    match(again.stdout, /slack is connected, nothing had to be changed\n$/);
    equal(await resources(), was);
    equal(slack.lines.length, 1, "the socket stays as it is");

    // While the daemon is away, Slack repeats unacknowledged events; each is stored once.
    const next = slack.next();
    await daemon[Symbol.asyncDispose]();
    daemon = await startDaemon(program, { ...NO_LISTENER, directory });
    await using _daemon = daemon;
    const young = await next;
    for (const attempt of [1, 2]) {
      ok(await young.deliver({ payload: mention("<@U0BOT> again", "1700000001.000100"), attempt }));
    }
    await until("the second task", async () => (await daemon.tasks()).length === 2 || undefined);
    equal((await daemon.settled()).length, 2);
    ok(!daemon.log.includes("fake-0123456789"));

    const left = await daemon.svc(["disconnect", "slack", "--yes"]);
    equal(left.code, 0, left.stderr);
    match(left.stdout, /connection\/slack deleted\n/);
    match(left.stdout, /secretstore\/slack-tokens deleted\n/);
    match(left.stderr, /revoke it: https:\/\/api\.slack\.com\/apps/);
    await young.ended;
  },
);

slowTest(
  "an event that is acknowledged survives a kill at once, one that is not comes again",
  async () => {
    await using slack = fakeSlack();
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const texts = Array.from({ length: 30 }, (_, n) => `event ${n}`);
    const payloads = texts.map((text, n) =>
      mention(text, `17000001${String(n).padStart(2, "0")}.0001`)
    );
    const open = new Set(payloads);
    {
      const daemon = await startDaemon(ONE_PROGRAM, { ...NO_LISTENER, directory });
      equal((await connect(daemon, slack)).code, 0);
      const [line] = slack.lines;
      ok(line !== undefined);
      let acknowledged = 0;
      const sent = payloads.map(async (payload) => {
        if (await line.deliver({ payload }) === undefined) return;
        open.delete(payload);
        if (++acknowledged === 7) void daemon.crash();
      });
      await Promise.all(sent);
      await daemon.crash();
      await daemon[Symbol.asyncDispose]();
    }
    ok(open.size > 0 && open.size <= 23, `${open.size}`);
    const next = slack.next();
    await using daemon = await startDaemon(ONE_PROGRAM, { ...NO_LISTENER, directory });
    const line = await next;
    for (const payload of open) ok(await line.deliver({ payload, attempt: 1 }));
    const tasks = await until("every task", async () => {
      const all = await daemon.tasks();
      return all.length >= 30 ? all : undefined;
    });
    equal(tasks.length, 30);
    await daemon.settled();
  },
);

/** Tokens that do not go, and what is said. */
const WRONG: Readonly<Record<string, [{ bot?: string; app?: string }, RegExp]>> = {
  "the two are swapped": [
    { bot: APP_TOKEN.token, app: BOT_TOKEN.token },
    /The app-level token begins with xapp-, and this one begins with xoxb-: the two tokens are swapped/,
  ],
  "one is the signing secret": [
    { bot: "8f742231b10e8888abcd99yyyzzz85a5" },
    /The bot token begins with xoxb-, and this one does not/,
  ],
  "one was revoked": [
    { app: "xapp-another" },
    /The app-level token cannot be used: Slack refuses apps.connections.open with invalid_auth/,
  ],
};

slowTest("tokens that do not go are told apart, and nothing is made", async (_program, t) => {
  await using slack = fakeSlack();
  await using daemon = await startDaemon(ONE_PROGRAM, NO_LISTENER);
  for (const [name, [tokens, said]] of Object.entries(WRONG)) {
    await t.step(name, async () => {
      const made = await connect(daemon, slack, tokens);
      equal(made.code, 1);
      match(made.stderr, said);
      ok(!Object.values(tokens).some((token) => made.stderr.includes(token)));
      deepEqual(await daemon.json("get", "connections"), []);
    });
  }

  await t.step("a scope that is missing is named", async () => {
    slack.interfere = ({ method }) =>
      method === "apps.connections.open"
        ? refusal("missing_scope", { needed: "connections:write", provided: "authorizations:read" })
        : undefined;
    const made = await connect(daemon, slack);
    equal(made.code, 1);
    match(made.stderr, /needs the scope connections:write, and has authorizations:read/);
    slack.interfere = undefined;
  });

  await t.step("Socket Mode that is switched off", async () => {
    slack.greeting = "link_disabled";
    const made = await connect(daemon, slack);
    equal(made.code, 1);
    match(made.stdout, /its events do not arrive: Socket Mode is switched off: switch it on/);
    slack.greeting = "hello";
  });

  await t.step("the same command goes on from there", async () => {
    const fixed = connect(daemon, slack);
    equal((await fixed).code, 0, (await fixed).stderr);
  });

  await t.step("a scope that the bot lacks is named", async () => {
    slack.interfere = ({ method }) =>
      method === "auth.test"
        ? Response.json({ ok: true, user: "svc", team: "Fake" }, {
          headers: { "x-oauth-scopes": "app_mentions:read,im:history,commands" },
        })
        : undefined;
    const made = await connect(daemon, slack, { bot: "" });
    equal(made.code, 0, made.stderr);
    match(made.stderr, /note: the bot token lacks the scope chat:write, so tasks cannot answer/);
  });
}, { fileOnly: NO_DATABASE });

programTest(
  "the link that makes the app is printed before the tokens are asked for",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM, NO_LISTENER);
    const asked = await daemon.svc(["connect", "slack"]);
    equal(asked.code, 2);
    const [, manifest = ""] =
      /https:\/\/api\.slack\.com\/apps\?new_app=1&manifest_yaml=(\S+)/.exec(asked.stderr) ?? [];
    match(decodeURIComponent(manifest), /\n {2}socket_mode_enabled: true\n/);
    match(asked.stderr, /bot token xoxb-… is missing: give it with --bot-token -/);
  },
  { fileOnly: NO_DATABASE },
);
