/**
 * Answers at GitHub under kill -9 at random moments around sending: of each key one comment, and in
 * the end each answer is there.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { type FakeGitHub, fakeGitHub, problem, TOKEN } from "../fakes/github.ts";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { gitHubConnection, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM, slowTest, times } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const REPOSITORY = "brightwater/tidepool";
const SECRET = "the-secret-of-the-hook";
/** Issues that all rounds share, so that comments are updated as well as made. */
const ISSUES = 6;

const MANIFESTS = (api: string) => [
  ...gitHubConnection({ api, repository: REPOSITORY, token: TOKEN.token, secret: SECRET }),
  workflow("review", 'svc github comment --text "by step: $SVC_TASK_ID" --key "task-$SVC_TASK_ID"'),
  {
    kind: "Trigger",
    metadata: { name: "review" },
    spec: {
      event: { source: "webhook", webhook: { secret: { fromRef: "github" }, scheme: "github" } },
      action: { workflow: "review", workspace: "default" },
      report: { github: { comment: "round {{ payload.round }}", key: "report" } },
    },
  },
];

/** Somebody comments; resolves once the daemon has taken it. */
async function say(daemon: TestDaemon, round: number): Promise<void> {
  const body = JSON.stringify({
    action: "created",
    round: String(round),
    issue: { number: 1 + round % ISSUES },
    comment: { id: 10_000 + round, body: "/review" },
    repository: { full_name: REPOSITORY },
    sender: { id: 7 },
  });
  const headers = githubHeaders(SECRET, body, "issue_comment");
  const answer = await daemon.send("/webhook/review", { headers, body });
  deepEqual([answer.status, answer.json["status"]], [200, "accepted"]);
}

/** Moments of a call at which the daemon is killed. */
const MOMENTS = ["before it is carried out", "before its answer", "behind its answer"] as const;

/** Kills the daemon at a random moment of one of its next calls that write, or after a while. */
async function killAround(fake: FakeGitHub, daemon: TestDaemon): Promise<string> {
  const moment = MOMENTS[Math.floor(Math.random() * MOMENTS.length)] ?? MOMENTS[0];
  let left = 1 + Math.floor(Math.random() * 2);
  const { promise: over, resolve } = Promise.withResolvers<string>();
  using client = daemon.client();
  const atRest = async () => {
    const { items } = await client.call("get", { what: "outbox", state: "pending" });
    return items.length === 0 ? "at rest" : undefined;
  };
  // A killed daemon answers neither of these calls.
  daemon.settled().then(() => until("an empty outbox", atRest)).then(resolve, () => {});
  fake.interfere = (call, carryOut) => {
    if (call.method === "GET" || --left !== 0) return undefined;
    const kill = () => resolve(`${call.method} ${moment}`);
    switch (moment) {
      case "before it is carried out":
        kill();
        return daemon.crash().then(() => problem(500, "nobody hears this"));
      case "before its answer":
        return carryOut().then(async (answer) => {
          kill();
          await daemon.crash();
          return answer;
        });
      case "behind its answer":
        setTimeout(kill, Math.random() * 20);
        return undefined;
    }
  };
  const when = await over;
  await daemon.crash();
  fake.interfere = undefined;
  return when;
}

async function survives(kills: number): Promise<void> {
  const shared = { repository: REPOSITORY, title: "t", body: "", user: { login: "mona", id: 7 } };
  await using fake = fakeGitHub();
  for (let number = 1; number <= ISSUES; number++) fake.issues.issues.push({ ...shared, number });
  await using directory = await initDataDirectory(ONE_PROGRAM);
  const moments: Record<string, number> = {};
  for (let round = 0; round < kills; round++) {
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    if (round === 0) await daemon.apply(...MANIFESTS(fake.url));
    await say(daemon, round);
    const when = await killAround(fake, daemon);
    moments[when] = (moments[when] ?? 0) + 1;
  }
  await using daemon = await startDaemon(ONE_PROGRAM, { directory });
  const tasks = await daemon.settled();
  deepEqual(tasks.filter(({ state }) => state !== "succeeded"), []);
  equal(tasks.length, kills);
  await until("an empty outbox", async () => {
    const waiting = await daemon.json("get", "outbox", "--state", "pending") as unknown[];
    return waiting.length === 0 || undefined;
  }, 600_000);
  deepEqual(await daemon.json("get", "outbox", "--state", "failed"), []);
  const ours = fake.issues.comments.filter(({ user }) => user.id === TOKEN.id);
  const said = ours.map(({ issue, body }) => `#${issue} ${body.replace(/\n\n<!--.*/, "")}`);
  const issueOf = (round: number) => 1 + round % ISSUES;
  const rounds = Array.from({ length: kills }, (_, round) => round);
  const newest = rounds.filter((round) => round + ISSUES >= kills);
  const ofTasks = said.filter((text) => text.includes("by step: "))
    .map((text) => text.split("by step: ")[1]);
  deepEqual(ofTasks.toSorted(), tasks.map(({ id }) => id).toSorted());
  deepEqual(
    said.filter((text) => !text.includes("by step: ")).toSorted(),
    newest.map((round) => `#${issueOf(round)} round ${round}`).toSorted(),
  );
  const keys = ours.map(({ issue, body }) => `${issue} ${/<!-- svc \S+ (\S+)/.exec(body)?.[1]}`);
  equal(new Set(keys).size, keys.length, "one comment for each key");
  const atRest = moments["at rest"] ?? 0;
  ok(atRest < kills, `the kills were around sending: ${JSON.stringify(moments)}`);
}

const KILLS = times(12, 4);

slowTest(
  `kills around sending: one comment for each key, each answer given${KILLS.inName}`,
  async () => await survives(KILLS.count),
);
