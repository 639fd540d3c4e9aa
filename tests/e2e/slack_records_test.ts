/**
 * What an operator sees of Slack's events: lists, watches, explanations; and that
 * nothing an operator does starts a task twice.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import type { WatchLine } from "../../src/api/resource_operations.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM, programTest, slowTest } from "../helpers/program.ts";
import { SLACK_SECRET, slackHeaders, slackMessage } from "../helpers/slack.ts";
import { until } from "../helpers/until.ts";

const ROOT = "1700000000.000100";
const STORE = secretStore("slack", { signing_secret: SLACK_SECRET });
const WEBHOOK = { secret: { fromRef: "slack" }, scheme: "slack", recordRejected: true };

function chat(options: { condition?: string; name?: string; suspend?: boolean } = {}): Manifest {
  const { name = "chat", ...more } = options;
  return trigger(name, { webhook: WEBHOOK, workflow: "talk", ...more });
}

async function say(daemon: TestDaemon, text: string, more: Record<string, string> = {}) {
  const { trigger: name = "chat", ts = ROOT, ...rest } = more;
  const body = slackMessage({ text, ts, ...rest });
  const answer = await daemon.send(`/source/slack/default/${name}`, {
    headers: slackHeaders(body),
    body,
  });
  equal(answer.status, 200);
  const id = String(answer.json["source_event_id"]);
  return await until("its routing", async () => {
    const event = await daemon.json("get", "source-event", id) as Record<string, unknown>;
    return event["state"] === "received" || event["state"] === "routing" ? undefined : event;
  });
}

slowTest("get source-events and bindings: shape, filters, pages, names", async (program) => {
  await using daemon = await startDaemon(program);
  await daemon.apply(
    STORE,
    workflow("talk", ":"),
    chat(),
    chat({ name: "other", condition: "false" }),
  );
  const first = await say(daemon, "hello <@U1>\nthere");
  const other = await say(daemon, "no", { trigger: "other", ts: "1700000001.000100" });
  const [task] = await daemon.settled();
  const { received_at: receivedAt, id, delivery_id: deliveryId, ...rest } = first;
  deepEqual(rest, {
    project: "default",
    trigger: "chat",
    provider: "slack",
    installation_id: "A0001/T0001",
    external_event_id: `Evmessage${ROOT}`,
    kind: "message",
    actor: "U0001",
    conversation_id: "C0001",
    thread_id: ROOT,
    top_level: true,
    text: "hello <@U1>\nthere",
    occurred_at: "2023-11-14T22:13:20.000Z",
    state: "routed",
    reason: "",
    task_id: task?.id,
    attempts: 0,
  });
  match(String(receivedAt), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const [delivery] = await daemon.json("get", "deliveries", "--trigger", "chat") as {
    id: string;
    task_id: string;
  }[];
  deepEqual([delivery?.id, delivery?.task_id], [deliveryId, task?.id]);
  const list = async (...words: string[]) =>
    (await daemon.json("get", "source-events", ...words) as { id: string }[]).map((one) => one.id);
  deepEqual(await list(), [other["id"], id]);
  deepEqual(await list("--state", "ignored"), [other["id"]]);
  deepEqual(await list("--trigger", "chat"), [id]);
  deepEqual(await list("--limit", "1"), [other["id"]]);
  deepEqual(await list("--before", String(other["id"])), [id]);
  deepEqual(await list("--since", "1h"), [other["id"], id]);
  deepEqual(await list("-p", "elsewhere"), []);
  const [binding, ...more] = await daemon.json("get", "bindings") as Record<string, unknown>[];
  equal(more.length, 0);
  const { created_at: _c, updated_at: _u, ...bound } = binding ?? {};
  deepEqual(bound, {
    id,
    project: "default",
    trigger: "chat",
    installation_id: "A0001/T0001",
    conversation_id: "C0001",
    thread_id: ROOT,
    task_id: task?.id,
  });
  const table = (await daemon.svc(["get", "source-events"])).stdout;
  match(table, /^ID +TRIGGER +KIND +STATE +TASK +AGE +TEXT *\n/);
  match(table, /hello <@U1> there/);
  equal(
    (await daemon.svc(["get", "source-events", "-o", "name"])).stdout.split("\n")[1],
    `source-event/${id}`,
  );
  for (const words of [["--state", "running"], ["--outcome", "accepted"], ["--workflow", "talk"]]) {
    equal((await daemon.svc(["get", "source-events", ...words])).code, 2);
  }
  match((await daemon.svc(["get", "bindings", "--state", "routed"])).stderr, /is for/);
});

programTest("get source-events -w shows an event as it is routed", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(STORE, workflow("talk", ":"), chat({ suspend: true }));
  const event = await say(daemon, "root");
  using client = daemon.client();
  const stop = new AbortController();
  const states: unknown[] = [];
  const watching = (async () => {
    const lines = client.stream("get.watch", { what: "source-events" }, stop.signal);
    for await (const { items } of lines as AsyncIterable<WatchLine>) {
      states.push(...items.map(({ state }) => state));
    }
  })().catch(() => {});
  await until("what there is", () => states.length > 0 || undefined);
  await daemon.apply(chat());
  equal((await daemon.svc(["source", "replay", String(event["id"])])).code, 0);
  await until("the routing", () => states.at(-1) === "routed" || undefined);
  equal(states[0], "ignored");
  stop.abort();
  await watching;
});

slowTest(
  "delivery explain tells of the event, delivery redeliver names the replay",
  async (program) => {
    await using daemon = await startDaemon(program);
    const condition = 'payload.event.text == "yes"';
    await daemon.apply(STORE, workflow("talk", ":"), chat({ condition }));
    const yes = await say(daemon, "yes");
    const no = await say(daemon, "no", { ts: "1700000001.000100" });
    await say(daemon, "yes"); // again
    const before = await daemon.settled();
    const explain = async (event: Record<string, unknown>) =>
      (await daemon.svc(["delivery", "explain", String(event["delivery_id"])])).stdout;
    const told = await explain(yes);
    match(told, new RegExp(`^source event: source-event/${yes["id"]}$`, "m"));
    match(told, new RegExp(`^event: routed, task/${yes["task_id"]}$`, "m"));
    match(told, /passed with key "signing_secret" of SecretStore "slack"/);
    match(told, /is true/);
    ok(!told.includes("no longer exists"), told);
    const refused = await explain(no);
    match(refused, /^event: ignored, the condition is false$/m);
    match(refused, /is false, where payload\.event\.text is "no"/);
    match(refused, new RegExp(`^next: To route it again: svc source replay ${no["id"]}$`, "m"));
    for (const event of [yes, no]) {
      const again = await daemon.svc(["delivery", "redeliver", String(event["delivery_id"])]);
      equal(again.code, 1);
      match(
        again.stdout,
        new RegExp(`came through the Slack source: use "svc source replay ${event["id"]}"`),
      );
    }
    const [repetition] = await daemon.json("get", "deliveries", "--outcome", "duplicate") as {
      id: string;
    }[];
    const again = await daemon.svc(["delivery", "redeliver", repetition?.id ?? ""]);
    match(again.stdout, new RegExp(`seen before, source event ${yes["id"]}`));
    const span = await daemon.svc(["delivery", "redeliver", "--trigger", "chat", "--since", "1h"]);
    deepEqual([span.code, span.stderr], [0, "No delivery to redeliver\n"]);
    equal((await daemon.settled()).length, before.length);
    const against = await daemon.svc(["apply", "-f", "-", "--dry-run", "--against", "1h"], {
      stdin: JSON.stringify(chat({ condition: "false" })),
    });
    equal(against.code, 0, against.stderr);
    ok(!against.stdout.includes("accepted → filtered"), against.stdout);
  },
);

programTest("delivery explain finds out why a signature did not pass", async (program) => {
  await using daemon = await startDaemon(program);
  const webhook = { secret: { fromRef: "slack" }, recordRejected: true };
  await daemon.apply(
    STORE,
    secretStore("forgotten", { key: "the key of another app, also kept" }),
    trigger("chat", { webhook, workflow: "talk" }),
  );
  const body = slackMessage({ text: "hi", ts: ROOT });
  const headers = slackHeaders(body, { secret: "the key of another app, also kept" });
  equal((await daemon.send("/source/slack/default/chat", { headers, body })).status, 401);
  const [delivery] = await until("the record", async () => {
    const all = await daemon.json("get", "deliveries") as { id: string }[];
    return all.length > 0 ? all : undefined;
  });
  const { stdout } = await daemon.svc(["delivery", "explain", delivery?.id ?? ""]);
  match(stdout, /refused: the signature fits no key of SecretStore "/);
  match(stdout, /would pass: .*forgotten/);
  ok(!stdout.includes("x-webhook-signature"), stdout);
});

programTest("a reply after svc task retry reaches the retry that runs", async (program) => {
  await using daemon = await startDaemon(program);
  const run =
    '[ -e again ] || exit 1; while [ ! -s "$SVC_INBOX" ]; do sleep 0.05; done; cat "$SVC_INBOX" > got';
  await daemon.apply(STORE, workflow("talk", run), chat());
  const root = await say(daemon, "root");
  await daemon.settled();
  await Deno.writeTextFile(`${daemon.workspace}/again`, "");
  equal((await daemon.svc(["task", "retry", String(root["task_id"])])).code, 0);
  const reply = await say(daemon, "for the retry", { ts: "1700000002.000100", thread: ROOT });
  const [retry, first, ...others] = await daemon.settled();
  equal(others.length, 0);
  deepEqual([retry?.state, first?.id], ["succeeded", root["task_id"]]);
  deepEqual([reply["task_id"], reply["reason"]], [retry?.id, "inbox"]);
  equal(JSON.parse(await Deno.readTextFile(`${daemon.workspace}/got`)).text, "for the retry");
});
