/**
 * `svc connect slack --with` and `svc connect line --with`: a message starts the agent in its sandbox, and
 * its answer, or why there is none, goes back to where the message came from.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { fakeLine, LINE_TOKEN } from "../fakes/line.ts";
import { LINE_SECRET } from "../fakes/line_channel.ts";
import { APP_TOKEN, BOT_TOKEN, fakeSlack } from "../fakes/slack.ts";
import { startDaemon } from "../helpers/daemon.ts";
import { DENO_DIR, NO_DATABASE, ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { NO_SANDBOX } from "../helpers/sandbox.ts";
import { slackMessage } from "../helpers/slack.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";

const KEY = "sk-the-key-that-stays-outside";

/** Answers as Claude Code does. */
const AGENT = `#!/bin/sh
echo "$*" | grep -Eo -e '--(session-id|resume)' >>~/turns
case $(cat) in
  *'LOOK BACK'*) printf '{"type":"result","is_error":false,"result":"%s"}\\n' "$(echo $(cat ~/turns))" ;;
  *'HIT THE LIMIT'*)
    echo '{"type":"result","is_error":true,"result":"You have hit your limit","api_error_status":429}'
    exit 1 ;;
  *'BE LONG'*)
    printf '{"type":"result","is_error":false,"result":"%s"}\\n' "$(head -c 140000 /dev/zero | tr '\\0' x)" ;;
  *) printf '{"type":"result","is_error":false,"result":"%s, <!here>: %s"}\\n' "$ANTHROPIC_API_KEY" "$(cat notes)" ;;
esac
`;

/** A daemon whose default workspace has a file, and that finds the agent. */
async function setUp() {
  const home = await tempDir();
  await Deno.mkdir(`${home.path}/.local/bin`, { recursive: true });
  await Deno.chmod(await home.write(".local/bin/claude", AGENT), 0o755);
  const key = await home.write("key", KEY);
  const PATH = `${home.path}/.local/bin:${Deno.env.get("PATH")}`;
  const daemon = await startDaemon(ONE_PROGRAM, { env: { HOME: home.path, PATH, DENO_DIR } });
  await Deno.writeTextFile(`${daemon.workspace}/notes`, "see the notes");
  return {
    daemon,
    args: ["--with", "claude-code", "--set-secret", `api_key=@${key}`],
    /** Waits until no task runs and no message waits; returns the tasks of the agent. */
    async settled(trigger: string) {
      const tasks = await daemon.settled();
      await until("an empty outbox", async () => {
        const waiting = await daemon.json("get", "outbox", "--state", "pending") as unknown[];
        return waiting.length === 0 || undefined;
      });
      return tasks.filter((task) => task.trigger === trigger);
    },
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

programTest("an agent answers in the thread at Slack, and says why if it cannot", async () => {
  await using slack = fakeSlack();
  await using all = await setUp();
  const { daemon } = all;
  const tokens = ["--bot-token", "env", "--app-token", "env"];
  const made = await daemon.svc(
    ["connect", "slack", "--api", slack.url, ...tokens, ...all.args],
    { env: { SLACK_BOT_TOKEN: BOT_TOKEN.token, SLACK_APP_TOKEN: APP_TOKEN.token } },
  );
  equal(made.code, 0, made.stderr);
  ok(!/^warning: (?!every step outside)/m.test(made.stderr), made.stderr);
  match(made.stdout, /^trigger\/slack-agent created$/m);
  match(made.stdout, /\nNow write to the app, .*: the agent answers in the thread\n$/);

  const posts = () =>
    slack.calls.filter(({ method }) => method === "chat.postMessage")
      .map(({ body }) => [body["thread_ts"], body["text"]]);
  let tasks = 0;
  const say = async (event: Record<string, unknown>, isAnswered = true) => {
    const [line] = slack.lines;
    const payload = { ...event, event_id: `Ev${crypto.randomUUID()}` };
    ok(await line?.deliver({ payload }));
    if (isAnswered) {
      tasks++;
      await until("the task", async () => {
        const own = (await daemon.tasks()).filter(({ trigger }) => trigger === "slack-agent");
        return own.length === tasks || undefined;
      });
    }
    await until("the routes", async () => {
      const open = await daemon.json("get", "source-events") as { state: string }[];
      return open.every(({ state }) => state === "routed" || state === "ignored") || undefined;
    });
    return await all.settled("slack-agent");
  };
  const mention = (text: string, more: Parameters<typeof slackMessage>[0] | object = {}) =>
    JSON.parse(slackMessage({ text, ts: "1700000000.000100", type: "app_mention", ...more }));

  await say(mention("<@U0BOT> What do the notes say?"));
  const answer = "added-by-svc, &lt;!here&gt;: see the notes";
  deepEqual(posts(), [["1700000000.000100", answer]]);
  const reply = { ts: "1700000009.000100", thread: "1700000000.000100", type: "message" as const };
  await say(mention("And now?", reply)); // without a mention: the thread is the agent's
  deepEqual(posts().slice(1), [["1700000000.000100", answer]]);

  await say(mention("LOOK BACK", { ...reply, ts: "1700000010.000100" }));
  equal(posts().at(-1)?.[1], "--session-id --resume --resume", "the thread is one conversation");

  await say(mention("<@U0BOT> HIT THE LIMIT", { ts: "1700000020.000100" }));
  const [thread, text] = posts().at(-1) ?? [];
  equal(thread, "1700000020.000100");
  match(String(text), /^Task \S+ failed after .*reached its limit: You have hit your limit/);

  await say(mention("<@U0BOT> BE LONG", { ts: "1700000021.000100" }));
  match(String(posts().at(-1)?.[1]), /^x{30000} … \(cut\)$/);

  const before = posts().length;
  const bot = mention("<@U0BOT> hello", { ts: "1700000030.000100" });
  await say({ ...bot, event: { ...bot.event, bot_id: "B0009" } }, false);
  const shared = mention("<@U0BOT> hello", { ts: "1700000031.000100" });
  await say({ ...shared, is_ext_shared_channel: true }, false);
  await say(mention("hello", { ts: "1700000032.000100", type: "message" }), false);
  equal((await all.settled("slack-agent")).length, tasks);
  equal(posts().length, before);

  const left = await daemon.svc(["disconnect", "slack", "--all", "--yes"]);
  match(left.stdout, /^trigger\/slack-agent deleted$/m);
}, { skip: NO_SANDBOX, fileOnly: NO_DATABASE });

programTest("an agent answers at LINE those who are named, whatever happens", async () => {
  await using line = fakeLine();
  await using all = await setUp();
  const { daemon } = all;
  line.channel.reach = (endpoint) => endpoint.replace("https://hooks.example.com", daemon.url);
  const [ada, other] = [`U${"a".repeat(32)}`, `U${"b".repeat(32)}`];
  const connect = (args: readonly string[]) =>
    daemon.svc(
      ["connect", "line", "--api", line.url, "--url", "https://hooks.example.com"]
        .concat("--token", "env", "--channel-secret", "env", all.args, args),
      { env: { LINE_TOKEN, LINE_CHANNEL_SECRET: LINE_SECRET } },
    );
  const refused = await connect([]);
  equal(refused.code, 2);
  match(refused.stderr, /name the users whom the agent answers with --user/);
  deepEqual(await daemon.json("get", "connections"), []);
  const made = await connect(["--user", ada]);
  equal(made.code, 0, made.stderr);
  match(made.stdout, /^trigger\/line-agent created$/m);

  let last = 0;
  const say = async (text: string, userId = ada) => {
    const event = {
      type: "message",
      webhookEventId: `01FZ74A0TDDPYRVKNK77${String(++last).padStart(6, "0")}`,
      timestamp: 1700000000001,
      source: { type: "user", userId },
      mode: "active",
      message: { id: String(last), type: "text", text },
    };
    const body = JSON.stringify({ destination: `U${"0".repeat(32)}`, events: [event] });
    const signature = createHmac("sha256", LINE_SECRET).update(body).digest("base64");
    const headers = { "content-type": "application/json", "x-line-signature": signature };
    equal((await daemon.send("/webhook/line", { headers, body })).status, 200);
    return await all.settled("line-agent");
  };
  await say("What do the notes say?");
  deepEqual(line.pushes.map(({ to, texts }) => [to, ...texts]), [
    [ada, "added-by-svc, <!here>: see the notes"],
  ]);
  await say("LOOK BACK");
  equal(line.pushes.at(-1)?.texts[0], "--session-id --resume");
  await say("HIT THE LIMIT");
  match(
    line.pushes.at(-1)?.texts[0] ?? "",
    /^There is no answer: .*reached its limit: You have hit your limit/,
  );
  await say("BE LONG");
  deepEqual(line.pushes.at(-1)?.texts.map(({ length }) => length), [5000, 5000, 5000, 5000, 5000]);
  const tasks = await say("What do the notes say?", other);
  equal(tasks.length, 4);
  equal(line.pushes.length, 4);
  await daemon.svc(["delete", "agent/claude-code", "--force"]);
  await say("Still there?");
  match(line.pushes.at(-1)?.texts[0] ?? "", /^There is no answer: .*claude-code/);
}, { skip: NO_SANDBOX, fileOnly: NO_DATABASE });
