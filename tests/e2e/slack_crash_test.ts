/**
 * The Slack source under crashes and load: what was answered 200 arrives once and in order,
 * and answers stay quick whatever waits.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { defined } from "../../src/base/defined.ts";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { longTest, ONE_PROGRAM, slowTest } from "../helpers/program.ts";
import { SLACK_SECRET, slackHeaders, slackMessage } from "../helpers/slack.ts";
import { until, untilFile } from "../helpers/until.ts";

const ROOT = "1700000000.000100";
const STORE = secretStore("slack", { signing_secret: SLACK_SECRET });
const WEBHOOK = { secret: { fromRef: "slack" }, scheme: "slack" };
const CHAT = trigger("chat", { webhook: WEBHOOK, workflow: "talk" });

async function say(daemon: TestDaemon, text: string, ts: string, thread?: string): Promise<void> {
  const body = slackMessage({ text, ts, ...defined({ thread }) });
  const answer = await daemon.send("/source/slack/default/chat", {
    headers: slackHeaders(body),
    body,
  });
  deepEqual([answer.status, answer.json["status"]], [200, "accepted"]);
}

const replyTs = (n: number) => `1700001000.${String(n).padStart(6, "0")}`;

slowTest(
  "replies to a task that goes on after each kill -9 arrive once and in order",
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const talk = 'while [ ! -e go ]; do sleep 0.05; done; cat "$SVC_INBOX" > got';
    let n = 0;
    for (let round = 0; round < 3; round++) {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory });
      await (round === 0 ? daemon.apply(STORE, workflow("talk", talk), CHAT) : undefined);
      await (round === 0 ? say(daemon, "root", ROOT) : undefined);
      await until(
        "the running task",
        async () => (await daemon.tasks()).some(({ state }) => state === "running") || undefined,
      );
      for (const end = n + 10; n < end; n++) await say(daemon, `reply ${n}`, replyTs(n), ROOT);
      await daemon.crash();
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    await say(daemon, `reply ${n++}`, replyTs(n), ROOT);
    await until("the routing of all", async () => {
      const all = await daemon.json("get", "source-events", "--limit", "1000") as {
        state: string;
      }[];
      return all.every(({ state }) => state === "routed") || undefined;
    });
    await Deno.writeTextFile(`${daemon.workspace}/go`, "");
    const lines = (await untilFile(`${daemon.workspace}/got`)).trimEnd().split("\n");
    deepEqual(
      lines.map((line) => JSON.parse(line).text),
      Array.from({ length: n }, (_, at) => `reply ${at}`),
    );
    equal((await daemon.settled()).length, 1);
  },
);

/** How long half of all single requests take at most, in milliseconds. */
async function median(daemon: TestDaemon, from: number): Promise<number> {
  const waits: number[] = [];
  for (let n = 0; n < 200; n++) {
    const start = performance.now();
    await say(daemon, "measured", `17100${from + n}.000100`);
    waits.push(performance.now() - start);
  }
  return waits.toSorted((a, b) => a - b)[100] ?? Infinity;
}

longTest(
  "answers stay quick while 10,000 replies of one thread wait",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    const condition = "payload.event.text == 'root'";
    const wait = workflow("talk", "while [ ! -e go ]; do sleep 0.1; done");
    await daemon.apply(
      STORE,
      wait,
      trigger("chat", { webhook: WEBHOOK, workflow: "talk", condition }),
    );
    await say(daemon, "root", ROOT);
    let next = 0;
    const send = async () => {
      while (next < 10_000) {
        const n = next++;
        await say(daemon, "waits", replyTs(n), ROOT);
      }
    };
    await Promise.all(Array.from({ length: 32 }, send));
    const slow = await median(daemon, 10_000);
    const still = await daemon.json(
      "get",
      "source-events",
      "--state",
      "received",
      "--limit",
      "100000",
    );
    ok((still as []).length > 0, "some still wait");
    ok(slow < 3000, `median of the answers: ${Math.round(slow)} ms, as long as Slack waits`);
    await Deno.writeTextFile(`${daemon.workspace}/go`, "");
  },
);
