/**
 * Answers in Slack's threads from outside: when a task is told of, who may post, and that
 * neither a payload nor a bad answer of Slack decides anything.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { filesBelow } from "../helpers/files.ts";
import { type Manifest, secretStore, workflow } from "../helpers/manifests.ts";
import { NO_DATABASE, ONE_PROGRAM, programTest, slowTest } from "../helpers/program.ts";
import { SLACK_SECRET, slackHeaders, slackMessage } from "../helpers/slack.ts";
import { slackApi } from "../fakes/slack_api.ts";
import { loggedTexts, textsIn } from "../helpers/stored_texts.ts";
import { until } from "../helpers/until.ts";

const ROOT = "1700000000.000100";
const TOKEN = "xoxb-1-the-token-of-this-test";
const STORES = [
  secretStore("slack", { signing_secret: SLACK_SECRET }),
  secretStore("bot", { token: TOKEN }),
];

function chat(spec: Record<string, unknown> = {}, name = "talk"): Manifest {
  const webhook = {
    secret: { fromRef: "slack" },
    scheme: "slack",
    slack: {
      botToken: { fromSecret: { store: "bot", key: "token" } },
      notify: ["started", "succeeded", "failed"],
    },
  };
  return {
    kind: "Trigger",
    metadata: { name: "chat" },
    spec: {
      event: { source: "webhook", webhook },
      action: { workflow: name, workspace: "default" },
      ...spec,
    },
  };
}

async function post(daemon: TestDaemon, body: string, type = "application/json") {
  const answer = await daemon.send("/source/slack/default/chat", {
    headers: slackHeaders(body, { type }),
    body,
  });
  equal(answer.status, 200);
}

/** What was posted, without what differs from run to run. */
const inWords = (texts: readonly { readonly text: string }[]) =>
  texts.map(({ text }) => text.replace(/[0-9A-Z]{26}/, "ID").replace(/\d+m?s/, "…"));

programTest(
  "a task is told of when it begins to run, and the one that waits is not",
  async (program) => {
    await using slack = slackApi();
    await using daemon = await startDaemon(program, { args: ["--slack-api-url", slack.url] });
    const wait = 'while [ ! -e "$SVC_TASK_ID.go" ]; do sleep 0.05; done';
    await daemon.apply(
      ...STORES,
      workflow("talk", wait),
      chat({ concurrency: { policy: "Queue" } }),
    );
    for (const n of [1, 2]) {
      await post(
        daemon,
        slackMessage({ text: "go", ts: `170000000${n}.000100` }),
      );
    }
    const [second, first] = await until("both tasks", async () => {
      const all = await daemon.tasks();
      return all.length === 2 ? all : undefined;
    });
    await until("the first post", () => slack.posts.length > 0 || undefined);
    equal(slack.posts[0]?.thread_ts, "1700000001.000100");
    for (const task of [first, second]) {
      await Deno.writeTextFile(
        `${daemon.workspace}/${task?.id}.go`,
        "",
      );
    }
    await daemon.settled();
    await until("four posts", () => slack.posts.length === 4 || undefined);
    deepEqual(inWords(slack.posts).toSorted(), [
      "Task ID started",
      "Task ID started",
      "Task ID succeeded after …",
      "Task ID succeeded after …",
    ]);
    const ofSecond = slack.posts.filter(({ thread_ts }) => thread_ts === "1700000002.000100");
    ok(slack.posts.indexOf(ofSecond[0] ?? slack.posts[0]!) > 0);
    equal(ofSecond.length, 2);
  },
);

programTest(
  "a task that can never run is told of as failed, its retry in the same thread",
  async (program) => {
    await using slack = slackApi();
    await using daemon = await startDaemon(program, { args: ["--slack-api-url", slack.url] });
    await daemon.apply(...STORES, chat());
    await post(daemon, slackMessage({ text: "go", ts: ROOT }));
    await until("the post", () => slack.posts.length === 1 || undefined);
    match(slack.posts[0]?.text ?? "", /^Task \S+ failed: missing .*talk/);
    const [failed] = await daemon.settled();
    await daemon.apply(workflow("talk", 'svc slack reply --text "from the retry"'));
    const retried = await daemon.svc(["task", "retry", failed?.id ?? ""]);
    equal(retried.code, 0, retried.stderr);
    await until("its posts", () => slack.posts.length === 4 || undefined);
    deepEqual(inWords(slack.posts).slice(1), [
      "Task ID started",
      "from the retry",
      "Task ID succeeded after …",
    ]);
    deepEqual(
      new Set(slack.posts.map(({ thread_ts, channel }) => `${channel} ${thread_ts}`)),
      new Set([`C0001 ${ROOT}`]),
    );
    await post(daemon, slackMessage({ text: "and now?", ts: "1700000009.000100", thread: ROOT }));
    const [followUp, retry] = await until("the follow-up", async () => {
      const all = await daemon.tasks() as unknown as Record<string, unknown>[];
      return all.length === 3 ? all : undefined;
    });
    equal(followUp?.["parent_id"], retry?.["id"], "the thread belongs to the retry");
    await daemon.settled();
  },
);

for (
  const [name, answer] of Object.entries({
    "takes its time": () => new Promise<Response>(() => {}),
    "wants a long pause": () =>
      new Response("", { status: 429, headers: { "retry-after": "290" } }),
  })
) {
  slowTest(`the daemon ends in time while Slack ${name}`, async () => {
    await using slack = slackApi(answer);
    await using daemon = await startDaemon(ONE_PROGRAM, { args: ["--slack-api-url", slack.url] });
    await daemon.apply(...STORES, workflow("talk", "true"), chat());
    await post(daemon, slackMessage({ text: "go", ts: ROOT }));
    const [task] = await until("the end of the task", async () => {
      const all = await daemon.tasks();
      return all[0]?.state === "succeeded" ? all : undefined;
    });
    const reply = daemon.svc(["slack", "reply", task?.id ?? "", "--text", "hi", "--wait"]);
    await until("a request", () => slack.posts.length === 1 || undefined);
    await until("the reply in the outbox", async () => {
      const all = await daemon.json("get", "outbox") as unknown[];
      return all.length === 3 || undefined;
    });
    equal(await daemon.stop(), 0);
    const { code: replied, stderr } = await reply;
    equal(replied, 3, stderr);
    ok(!`${stderr}${daemon.log}`.includes("xoxb"));
  }, { fileOnly: NO_DATABASE });
}

slowTest("the token is used as it is now, and is nowhere to be read", async () => {
  await using slack = slackApi((_post, nth) =>
    nth % 2 === 0
      ? Response.json({ ok: false, error: "not_in_channel" })
      : Response.json({ ok: true, ts: "1" })
  );
  await using daemon = await startDaemon(ONE_PROGRAM, {
    args: ["--slack-api-url", slack.url, "--log-level", "debug"],
  });
  await daemon.apply(
    ...STORES,
    workflow("talk", "for text in one again; do svc slack reply --text $text || true; done; env"),
    chat(),
  );
  await post(daemon, slackMessage({ text: "go", ts: ROOT }));
  const [task] = await until(
    "a task",
    async () => (await daemon.tasks())[0] && await daemon.settled(),
  );
  await until("its posts", () => slack.posts.length === 4 || undefined);
  await until("their ends", async () => {
    const waiting = await daemon.json("get", "outbox", "--state", "pending") as unknown[];
    return waiting.length === 0 || undefined;
  });
  const rotated = await daemon.svc([
    "tool",
    "secret-rotate",
    "bot",
    "token",
    "--value",
    "xoxb-2-rotated",
  ]);
  equal(rotated.code, 0, rotated.stderr);
  const reply = (text: string) =>
    daemon.svc(["slack", "reply", task?.id ?? "", "--text", text, "--wait"]);
  const replied = await reply("two");
  equal(replied.code, 0, replied.stderr);
  equal(slack.posts.at(-1)?.authorization, "Bearer xoxb-2-rotated");
  const refused = await reply("three");
  deepEqual([refused.code, refused.stderr], [1, "error: Slack refused the post: not_in_channel\n"]);
  await daemon.svc(["tool", "secret-rotate", "bot", "token", "--value", "xoxb-3-two\nlines"]);
  const unusable = await reply("four");
  match(
    unusable.stderr,
    /^error: The bot token has characters that tokens cannot have: set it again\n$/,
  );
  const shown = await Promise.all(
    [
      ["get", "source-events"],
      ["get", "bindings"],
      ["get", "deliveries"],
      ["get", "tasks"],
      ["get", "outbox"],
    ].map((
      words,
    ) => daemon.json(...words)),
  );
  const logs = await daemon.svc(["task", "logs", task?.id ?? ""]);
  const told = [
    JSON.stringify(shown),
    daemon.log,
    logs.stdout,
    logs.stderr,
    refused.stderr,
    unusable.stderr,
  ];
  ok(!told.join("\n").includes("xoxb-"), told.join("\n"));
  await daemon.stop();
  for (const [path, text] of filesBelow(daemon.dataDir)) ok(!text.includes("xoxb-"), path);
  const stored = [...await textsIn(daemon.dataDir), ...await loggedTexts(daemon.dataDir)];
  deepEqual(stored.filter(([, text]) => text.includes("xoxb-")), []);
});

programTest("no payload chooses where is posted", async () => {
  await using slack = slackApi();
  await using elsewhere = slackApi();
  await using daemon = await startDaemon(ONE_PROGRAM, { args: ["--slack-api-url", slack.url] });
  await daemon.apply(...STORES, workflow("talk", 'svc slack reply --text "done"'), chat());
  const payload = JSON.stringify({
    type: "block_actions",
    api_app_id: "A1",
    team: { id: "T1" },
    user: { id: "U1" },
    channel: { id: "C7" },
    response_url: elsewhere.url,
    response_urls: [{ url: elsewhere.url }],
    container: { message_ts: "7.1" },
    actions: [{ action_id: "a", value: elsewhere.url }],
    slack_api_url: elsewhere.url,
    chat: { channel: "C666" },
  });
  await post(
    daemon,
    new URLSearchParams({ payload }).toString(),
    "application/x-www-form-urlencoded",
  );
  const command = {
    command: "/deploy",
    text: "now",
    response_url: elsewhere.url,
    channel_id: "C8",
  };
  await post(
    daemon,
    new URLSearchParams({ ...command, user_id: "U1", team_id: "T1", api_app_id: "A1" }).toString(),
    "application/x-www-form-urlencoded",
  );
  await until("six posts", () => slack.posts.length === 6 || undefined);
  await daemon.settled();
  deepEqual(
    new Set(slack.posts.map(({ channel, thread_ts = "" }) => `${channel} ${thread_ts}`)),
    new Set(["C7 7.1", "C8 "]),
  );
  deepEqual(new Set(slack.paths), new Set(["/api/chat.postMessage"]));
  deepEqual(elsewhere.paths, []);
});

slowTest("svc slack reply: what it takes, and who may", async (program) => {
  await using slack = slackApi();
  await using daemon = await startDaemon(program, { args: ["--slack-api-url", slack.url] });
  await daemon.apply(...STORES, workflow("talk", "true"), chat());
  await post(daemon, slackMessage({ text: "go", ts: ROOT }));
  const [task] = await until(
    "a task",
    async () => (await daemon.tasks())[0] && await daemon.settled(),
  );
  await until("its posts", () => slack.posts.length === 2 || undefined);
  const reply = (...args: string[]) => daemon.svc(["slack", "reply", ...args]);
  const id = task?.id ?? "";
  const stdin = async (bytes: string | Uint8Array) =>
    await daemon.svc(["slack", "reply", id, "--text", "-"], { stdin: bytes });
  deepEqual((await stdin(new Uint8Array([0xff, 0xfe]))).stderr, "error: The text is not UTF-8\n");
  deepEqual((await stdin("")).stderr, "error: The text is empty, so there is nothing to post\n");
  deepEqual((await reply(id, "--text", " \n")).code, 1);
  match((await stdin("x".repeat(40_001))).stderr, /^error: A post has at most 40000 characters/);
  equal((await reply(id)).code, 2);
  equal((await reply("--text", "x")).code, 2);
  equal((await reply("01ZZZ", "--text", "x")).code, 4);
  equal(slack.posts.length, 2, "nothing was posted");
  const queued = await stdin("x".repeat(40_000));
  match(queued.stdout, /^queued as outbox\/[0-9A-Z]{26}\n$/);
  const plain = await daemon.svc(["slack", "reply", id, "--text", "-", "--wait"], {
    stdin: "line\n\0 <@U1> \u{1F600}",
  });
  deepEqual([plain.code, plain.stdout], [0, "posted to C0001\n"]);
  equal(slack.posts.at(-1)?.text, "line\n\0 &lt;@U1&gt; \u{1F600}");
  await Deno.writeTextFile(
    `${daemon.dataDir}/control-plane/uds-policy.yaml`,
    "max_role: read_only\n",
  );
  const denied = await reply(id, "--text", "x");
  equal(denied.code, 5);
  match(denied.stderr, /^error: This needs the role operator, and you have read_only/);
  for (const words of [["source", "replay", id], ["source", "bind", id, id]]) {
    equal((await daemon.svc(words)).code, 5);
  }
});
