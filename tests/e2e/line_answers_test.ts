/**
 * Answers at LINE from outside: to whom a task's own event came from, once, with the daemon's token.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { fakeLine, LINE_TOKEN, problem } from "../fakes/line.ts";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, secretStore, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const ANNA = `U${"a".repeat(32)}`;
const GROUP = `C${"b".repeat(32)}`;
const RANDOM = "k3J9sQ1xZ7pLw2Vb8NtR5mYc6HdF4gTa0UeX";
const ROOM = `R${"c".repeat(32)}`;

const manifests = (api: string): Manifest[] => [
  secretStore("line", { channel_secret: SECRET }),
  secretStore("chat", { token: LINE_TOKEN }),
  {
    kind: "Connection",
    metadata: { name: "chat" },
    spec: { line: { api, channelAccessToken: { fromSecret: { store: "chat", key: "token" } } } },
  },
  {
    kind: "Trigger",
    metadata: { name: "talk" },
    spec: {
      event: { source: "webhook", webhook: { secret: { fromRef: "line" }, scheme: "line" } },
      action: { workflow: "talk", workspace: "default" },
    },
  },
];

let last = 0;

async function say(daemon: TestDaemon, ...sources: readonly Record<string, string>[]) {
  const events = sources.map((source) => ({
    type: "message",
    webhookEventId: `01FZ74A0TDDPYRVKNK77${String(++last).padStart(6, "0")}`,
    deliveryContext: { isRedelivery: false },
    timestamp: 1700000000001,
    source,
    mode: "active",
    message: { id: String(last), type: "text", text: "hi" },
  }));
  const body = JSON.stringify({ destination: `U${"0".repeat(32)}`, events });
  const signature = createHmac("sha256", SECRET).update(body).digest("base64");
  const answer = await daemon.send("/webhook/talk", {
    headers: { "content-type": "application/json", "x-line-signature": signature },
    body,
  });
  equal(answer.status, 200, answer.text);
}

const sent = (daemon: TestDaemon) =>
  until("an empty outbox", async () => {
    const waiting = await daemon.json("get", "outbox", "--state", "pending") as unknown[];
    return waiting.length === 0 || undefined;
  });

programTest(
  "svc line push answers each event of a batch where it came from",
  async (program) => {
    await using line = fakeLine();
    await using daemon = await startDaemon(program);
    await daemon.apply(
      ...manifests(line.url),
      workflow("talk", 'svc line push --text "for $SVC_TASK_ID"'),
    );
    await say(
      daemon,
      { type: "user", userId: ANNA },
      { type: "group", groupId: GROUP, userId: ANNA },
      { type: "room", roomId: ROOM },
    );
    await daemon.settled();
    await sent(daemon);
    deepEqual(line.pushes.map(({ to }) => to).toSorted(), [GROUP, ROOM, ANNA].toSorted());
    const tasks = await daemon.tasks();
    const waited = await daemon.svc([
      "line",
      "push",
      tasks[0]?.id ?? "",
      "--text",
      "x".repeat(30_000),
      "--wait",
    ]);
    match(waited.stdout, /^pushed to [UCR][0-9a-f]{32}\n$/);
    const long = line.pushes.at(-1)?.texts ?? [];
    deepEqual(long.map(({ length }) => length), [5000, 5000, 5000, 5000, 5000]);
    ok(long.at(-1)?.endsWith("… (cut)"));
    const shown = JSON.stringify(await daemon.json("get", "outbox")) + daemon.log;
    ok(!shown.includes(LINE_TOKEN));
  },
);

programTest("a push whose answer is lost is sent again, and arrives once", async () => {
  await using line = fakeLine();
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(...manifests(line.url), workflow("talk", "true"));
  await say(daemon, { type: "user", userId: ANNA });
  await daemon.settled();
  const leaking = await daemon.svc(["line", "push", "latest", "--text", `hi ghp_${RANDOM}`]);
  match(leaking.stderr, /^error: The text has a token of GitHub: svc sends nothing/);
  let lost = false;
  line.interfere = (carryOut) => {
    if (lost) return undefined;
    lost = true;
    carryOut();
    return problem(500, "Internal server error");
  };
  await daemon.svc(["line", "push", "latest", "--text", "hi"]);
  await until("the lost answer", async () => {
    const [one] = await daemon.json("get", "outbox") as Record<string, unknown>[];
    return one?.["reason"] !== "" || undefined;
  });
  equal((await daemon.svc(["outbox", "retry", "latest"])).code, 0);
  await sent(daemon);
  deepEqual([line.pushes.length, line.statuses], [1, [500, 409]]);
  line.interfere = () => problem(429, "You have reached your monthly limit.");
  const used = await daemon.svc(["line", "push", "latest", "--text", "hi", "--wait"]);
  match(used.stderr, /^error: This month's LINE messages are used up/);
});
