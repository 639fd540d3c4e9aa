/**
 * The native Slack source from outside: an event that was answered 200 is stored and
 * routed once, and a thread belongs to its process.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, secretStore, workflow } from "../helpers/manifests.ts";
import { longTest, ONE_PROGRAM, programTest, slowTest, times } from "../helpers/program.ts";
import { SLACK_SECRET, slackHeaders, slackMessage } from "../helpers/slack.ts";
import { findFile, until, untilFile } from "../helpers/until.ts";

const PATH = "/source/slack/default/chat";
const ROOT = "1700000000.000100";

const STORE = secretStore("slack", { signing_secret: SLACK_SECRET });

function chat(more: { condition?: string; slack?: Record<string, unknown> } = {}): Manifest {
  const { condition, slack } = more;
  return {
    kind: "Trigger",
    metadata: { name: "chat" },
    spec: {
      event: {
        source: "webhook",
        webhook: {
          secret: { fromRef: "slack" },
          signatureHeader: "X-Slack-Signature",
          ...defined({ slack }),
        },
        ...(condition === undefined ? {} : { filter: { condition } }),
      },
      action: { workflow: "talk", workspace: "default" },
    },
  };
}

async function post(daemon: TestDaemon, body: string, type?: string) {
  const headers = slackHeaders(body, type === undefined ? {} : { type });
  return await daemon.send(PATH, { headers, body });
}

interface EventRecord {
  readonly id: string;
  readonly state: string;
  readonly reason: string;
  readonly kind: string;
  readonly task_id: string | null;
  readonly text: string;
}

async function events(daemon: TestDaemon): Promise<readonly EventRecord[]> {
  return await daemon.json("get", "source-events", "--limit", "100000") as EventRecord[];
}

/** Every event, once none waits to be routed. */
function routed(daemon: TestDaemon): Promise<readonly EventRecord[]> {
  return until("the routing of every event", async () => {
    const all = await events(daemon);
    return all.every(({ state }) => state !== "received" && state !== "routing") ? all : undefined;
  });
}

programTest(
  "a thread: ten replies reach the running task in order, the next starts a follow-up",
  async (program) => {
    await using daemon = await startDaemon(program);
    const talk = 'while [ ! -e go ]; do sleep 0.05; done; cat "$SVC_INBOX" > "$SVC_TASK_ID.inbox"';
    await daemon.apply(STORE, workflow("talk", talk), chat());

    const first = await post(daemon, slackMessage({ text: "Deploy please", ts: ROOT }));
    deepEqual([first.status, first.json["status"]], [200, "accepted"]);
    const [start] = await routed(daemon);
    const task = String(start?.task_id);
    await until(
      "the running task",
      async () => (await daemon.tasks()).some(({ state }) => state === "running") || undefined,
    );
    const words = Array.from({ length: 10 }, (_, i) => `reply ${i}`);
    for (const [i, text] of words.entries()) {
      const reply = slackMessage({ text, ts: `17000000${10 + i}.000100`, thread: ROOT });
      equal((await post(daemon, reply)).status, 200);
    }
    await routed(daemon);
    await Deno.writeTextFile(`${daemon.workspace}/go`, "");
    const inbox = await untilFile(`${daemon.workspace}/${task}.inbox`);
    const texts = inbox.trimEnd().split("\n").map((line) => JSON.parse(line).text);
    deepEqual(texts, words);
    await daemon.settled();

    await post(daemon, slackMessage({ text: "and again", ts: "1700000099.000100", thread: ROOT }));
    const [last] = await routed(daemon);
    const tasks = await daemon.settled() as unknown as Record<string, unknown>[];
    equal(tasks.length, 2);
    deepEqual(
      tasks.map(({ id, parent_id, state }) => ({ id, parent_id, state })),
      [
        { id: last?.task_id, parent_id: task, state: "succeeded" },
        { id: task, parent_id: null, state: "succeeded" },
      ],
    );
    const bindings = await daemon.json("get", "bindings") as Record<string, unknown>[];
    deepEqual(
      bindings.map(({ thread_id, task_id }) => ({ thread_id, task_id })),
      [{ thread_id: ROOT, task_id: last?.task_id }],
    );
  },
);

programTest(
  "Slack's retries, signed anew each time, leave one event and one task",
  async (program) => {
    await using daemon = await startDaemon(program);
    await daemon.apply(STORE, workflow("talk", ":"), chat());
    const body = slackMessage({ text: "once", ts: ROOT });
    const now = Math.floor(Date.now() / 1000);
    const answers = [];
    for (const [retry, time] of [now - 200, now - 200, now - 140, now].entries()) {
      const headers = {
        ...slackHeaders(body, { time: String(time) }),
        "x-slack-retry-num": String(retry),
      };
      answers.push(await daemon.send(PATH, { headers, body }));
    }
    deepEqual(answers.map(({ status, json }) => [status, json["status"]]), [
      [200, "accepted"],
      [200, "duplicate"],
      [200, "duplicate"],
      [200, "duplicate"],
    ]);
    equal(new Set(answers.map(({ json }) => json["source_event_id"])).size, 1);
    equal((await routed(daemon)).length, 1);
    equal((await daemon.settled()).length, 1);
  },
);

programTest(
  "a mention is one task although Slack tells of it twice; what people did not write is ignored",
  async (program) => {
    await using daemon = await startDaemon(program);
    await daemon.apply(STORE, workflow("talk", ":"), chat());
    for (const type of ["message", "app_mention"] as const) {
      await post(daemon, slackMessage({ text: "<@U0BOT> hello", ts: ROOT, type }));
    }
    const fixtures = ["message_bot", "message_changed", "message_deleted", "channel_join"];
    for (const name of fixtures) {
      const file = new URL(`../fixtures/slack/${name}.json`, import.meta.url);
      equal((await post(daemon, await Deno.readTextFile(file))).json["status"], "accepted");
    }
    const all = await routed(daemon);
    const byState = (state: string) => all.filter((one) => one.state === state);
    deepEqual([byState("routed").length, byState("ignored").length], [1, 5]);
    deepEqual(
      byState("ignored").map(({ reason }) => reason.replace(/event .*/, "event …")).sort(),
      [
        "a deletion",
        "an edit",
        "not written by a person: channel_join",
        "the same post as source event …",
        "written by a bot",
      ],
    );
    equal((await daemon.settled()).length, 1);
  },
);

programTest(
  "the filter decides what starts a task, not what reaches a bound thread",
  async (program) => {
    await using daemon = await startDaemon(program);
    await daemon.apply(
      STORE,
      workflow("talk", ":"),
      chat({ condition: 'payload.event.type == "app_mention"' }),
    );
    await post(daemon, slackMessage({ text: "nothing for us", ts: "1700000001.000100" }));
    for (const type of ["message", "app_mention"] as const) {
      await post(daemon, slackMessage({ text: "<@U0BOT> go", ts: ROOT, type }));
    }
    await routed(daemon);
    await daemon.settled();
    await post(daemon, slackMessage({ text: "plain reply", ts: "1700000020.0001", thread: ROOT }));
    const all = await routed(daemon);
    const tasks = await daemon.settled();
    equal(tasks.length, 2, JSON.stringify(all));
    deepEqual(all.map(({ text, state }) => `${text}: ${state}`).sort(), [
      "<@U0BOT> go: ignored",
      "<@U0BOT> go: routed",
      "nothing for us: ignored",
      "plain reply: routed",
    ]);
  },
);

programTest(
  "slash commands and clicks get an empty 200, and their text stays text",
  async (program) => {
    await using daemon = await startDaemon(program);
    await daemon.apply(
      STORE,
      {
        kind: "Workflow",
        metadata: { name: "talk" },
        spec: {
          steps: [{
            id: "say",
            env: { TEXT: "{{ has(payload.text) ? payload.text : payload.type }}" },
            run: 'printf %s "$TEXT" > said',
          }],
        },
      },
      chat(),
    );
    const form = "application/x-www-form-urlencoded";
    const command = new URLSearchParams({
      command: "/deploy",
      text: "<!channel> $(touch PWN) `touch PWN`",
      team_id: "T1",
      api_app_id: "A1",
      channel_id: "C1",
      user_id: "U1",
      trigger_id: "1.2.3",
    }).toString();
    const answer = await post(daemon, command, form);
    deepEqual([answer.status, answer.text], [200, ""]);
    equal(await untilFile(`${daemon.workspace}/said`), "<!channel> $(touch PWN) `touch PWN`");
    const click = await Deno.readTextFile(
      new URL("../fixtures/slack/block_actions.form", import.meta.url),
    );
    deepEqual((await post(daemon, click, form)).text, "");
    await routed(daemon);
    equal((await daemon.settled()).filter(({ state }) => state === "succeeded").length, 2);
    equal(await findFile(`${daemon.workspace}/PWN`), undefined);
  },
);

programTest(
  "an event that svc cannot route waits for a person: source bind and source replay",
  async (program) => {
    await using daemon = await startDaemon(program);
    await daemon.apply(STORE, workflow("talk", ":"), chat());
    await post(daemon, slackMessage({ text: "who?", ts: "1700000050.000100", thread: ROOT }));
    const [stray] = await routed(daemon);
    equal(stray?.reason, "a reply in a thread that belongs to no task");
    await post(daemon, slackMessage({ text: "other", ts: "1700000060.000100" }));
    await routed(daemon);
    const [task] = await daemon.settled();
    const bound = await daemon.svc(["source", "bind", stray?.id ?? "", task?.id ?? ""]);
    deepEqual([bound.code, bound.stderr], [0, ""]);
    await until(
      "the follow-up",
      async () =>
        (await events(daemon)).find(({ id, state }) => id === stray?.id && state === "routed"),
    );
    equal((await daemon.settled()).length, 2);
    const again = await daemon.svc(["source", "replay", stray?.id ?? ""]);
    equal(again.code, 1);
    match(again.stderr, /is routed to task \S+: retry that instead/);
    equal((await daemon.svc(["source", "replay", "01K"])).code, 4);
  },
);

const KILLS = times(10, 3);

slowTest(
  `kill -9 right after a 200: the event is there and is routed once${KILLS.inName}`,
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const ids: string[] = [];
    for (let round = 0; round < KILLS.count; round++) {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory });
      await (round === 0 ? daemon.apply(STORE, workflow("talk", ":"), chat()) : undefined);
      const answer = await post(
        daemon,
        slackMessage({ text: `round ${round}`, ts: `17000${10_000 + round}.000100` }),
      );
      equal(answer.json["status"], "accepted");
      ids.push(String(answer.json["source_event_id"]));
      await daemon.crash();
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    const all = await routed(daemon);
    const tasks = await daemon.settled(120_000);
    deepEqual(all.map(({ id }) => id).sort(), ids.sort());
    deepEqual(new Set(all.map(({ state }) => state)), new Set(["routed"]));
    deepEqual(all.map(({ task_id }) => task_id).sort(), tasks.map(({ id }) => id).sort());
    equal(new Set(tasks.map(({ id }) => id)).size, KILLS.count);
  },
);

longTest(
  "answers stay quick while a thousand events wait to be routed",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    await daemon.apply(
      STORE,
      workflow("talk", ":"),
      chat({ condition: "payload.event.text == 'x'" }),
    );
    const waits: number[] = [];
    let next = 0;
    const send = async () => {
      while (next < 1200) {
        const body = slackMessage({ text: "wait", ts: `17000${10_000 + next++}.000100` });
        const start = performance.now();
        equal((await post(daemon, body)).status, 200);
        waits.push(performance.now() - start);
      }
    };
    await Promise.all(Array.from({ length: 32 }, send));
    waits.sort((a, b) => a - b);
    const median = waits[Math.floor(waits.length / 2)] ?? Infinity;
    ok(median < 3000, `median of the answers: ${Math.round(median)} ms, as long as Slack waits`);
    equal((await routed(daemon)).length, 1200);
  },
);

/** A server that speaks `chat.postMessage`, and asks for patience the first time. */
function fakeSlack() {
  const posts: Record<string, unknown>[] = [];
  let asked = 0;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    equal(new URL(request.url).pathname, "/api/chat.postMessage");
    const body = await request.json();
    asked++;
    if (asked === 1) {
      return new Response("", { status: 429, headers: { "retry-after": "1" } });
    }
    posts.push({ ...body, authorization: request.headers.get("authorization") });
    return Response.json({ ok: true, ts: `1700000100.00000${posts.length}` });
  });
  return {
    posts,
    url: `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}/api`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

programTest(
  "answers go to the thread: notify, and svc slack reply from a step",
  async (program) => {
    await using slack = fakeSlack();
    await using daemon = await startDaemon(program, { args: ["--slack-api-url", slack.url] });
    await daemon.apply(
      secretStore("slack", { signing_secret: SLACK_SECRET }),
      secretStore("bot", { token: "xoxb-of-the-test" }),
      workflow("talk", 'svc slack reply --text "<!channel> & done: $(id -u >/dev/null; echo ok)"'),
      chat({
        slack: {
          botToken: { fromSecret: { store: "bot", key: "token" } },
          notify: ["started", "succeeded", "failed"],
        },
      }),
    );
    await post(daemon, slackMessage({ text: "hello", ts: ROOT }));
    await routed(daemon);
    const [task] = await daemon.settled();
    const log = await daemon.svc(["task", "logs", task?.id ?? ""]);
    equal(task?.state, "succeeded", log.stdout + log.stderr);
    await until("three posts", () => slack.posts.length === 3 || undefined);
    const texts = slack.posts.map(({ text }) => String(text).replace(/\d+m?s/, "…")).sort();
    deepEqual(texts, [
      "&lt;!channel&gt; &amp; done: ok",
      `Task ${task?.id} started`,
      `Task ${task?.id} succeeded after …`,
    ]);
    for (const { channel, thread_ts, authorization } of slack.posts) {
      deepEqual([channel, thread_ts, authorization], ["C0001", ROOT, "Bearer xoxb-of-the-test"]);
    }
    ok(!daemon.log.includes("xoxb-"), "no token in the log");
  },
);

slowTest(
  "svc slack reply says what is missing, and a step answers for its own task only",
  async (program) => {
    await using daemon = await startDaemon(program);
    await daemon.apply(STORE, workflow("talk", ":"), chat());
    await post(daemon, slackMessage({ text: "one", ts: ROOT }));
    await routed(daemon);
    const [task] = await daemon.settled();
    const reply = await daemon.svc(["slack", "reply", task?.id ?? "", "--text", "hi"]);
    equal(reply.code, 1);
    match(
      reply.stderr,
      /names no bot token: set spec\.event\.webhook\.slack\.botToken, or make a Connection/,
    );
    await daemon.apply(workflow("talk", `svc slack reply ${task?.id} --text hi || echo "exit $?"`));
    await post(daemon, slackMessage({ text: "two", ts: "1700000005.000100" }));
    await routed(daemon);
    const [other] = await daemon.settled();
    const log = await daemon.svc(["task", "logs", other?.id ?? ""]);
    match(log.stdout, /exit 5/);
  },
);
