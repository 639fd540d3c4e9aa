/**
 * An issue and a review under kill -9 at the call that makes them: one of each, also where an earlier one
 * of their key is known and a new one is made.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { type FakeGitHub, fakeGitHub, problem, TOKEN } from "../fakes/github.ts";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { gitHubConnection } from "../helpers/manifests.ts";
import { ONE_PROGRAM, slowTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const REPOSITORY = "brightwater/tidepool";
const SECRET = "the-secret-of-the-hook";
const HEADS = ["a", "b"].map((letter) => letter.repeat(40));
const RUN = `svc github issue create --title Flaky --body "$SVC_TASK_ID" --key flaky
svc github review --body "$SVC_TASK_ID"`;

const manifests = (api: string) => [
  ...gitHubConnection({ api, repository: REPOSITORY, token: TOKEN.token, secret: SECRET }),
  {
    kind: "Workflow",
    metadata: { name: "triage" },
    spec: { may: { github: { issue: {}, review: {} } }, steps: [{ id: "s1", run: RUN }] },
  },
  {
    kind: "Trigger",
    metadata: { name: "triage" },
    spec: {
      event: { source: "webhook", webhook: { secret: { fromRef: "github" }, scheme: "github" } },
      action: { workflow: "triage", workspace: "default" },
    },
  },
];

/** Somebody comments; resolves once the daemon has taken it. */
async function say(daemon: TestDaemon, round: number): Promise<void> {
  const body = JSON.stringify({
    action: "created",
    issue: { number: 7, pull_request: {} },
    comment: { id: 10_000 + round, body: "/triage" },
    repository: { full_name: REPOSITORY },
    sender: { id: 7, login: "mona" },
  });
  const headers = githubHeaders(SECRET, body, "issue_comment");
  const answer = await daemon.send("/webhook/triage", { headers, body });
  deepEqual([answer.status, answer.json["status"]], [200, "accepted"]);
}

/** Kills the daemon at the next call that makes what `path` names. */
function killAt(
  fake: FakeGitHub,
  daemon: TestDaemon,
  { path, isCarriedOut }: { readonly path: RegExp; readonly isCarriedOut: boolean },
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  fake.interfere = (call, carryOut) => {
    if (call.method !== "POST" || !path.test(call.path)) return undefined;
    fake.interfere = undefined;
    return (async () => {
      const answer = isCarriedOut ? await carryOut() : problem(500, "nobody hears this");
      await daemon.crash();
      resolve();
      return answer;
    })();
  };
  return promise;
}

async function survives(isCarriedOut: boolean): Promise<void> {
  await using fake = fakeGitHub();
  const pull = { sha: HEADS[0] ?? "", commits: [...HEADS], files: [] };
  const shared = { repository: REPOSITORY, title: "t", body: "", user: { login: "mona", id: 7 } };
  fake.issues.issues.push({ ...shared, number: 7, pull });
  await using directory = await initDataDirectory(ONE_PROGRAM);
  for (const round of [0, 1]) {
    for (const path of [/\/issues$/, /\/reviews$/]) {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory });
      if (round === 0 && path.test("/issues")) await daemon.apply(...manifests(fake.url));
      const killed = killAt(fake, daemon, { path, isCarriedOut });
      if (path.test("/issues")) await say(daemon, round);
      await killed;
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    await until("an empty outbox", async () => {
      const waiting = await daemon.json("get", "outbox", "--state", "pending") as unknown[];
      return waiting.length === 0 || undefined;
    }, 120_000);
    deepEqual(await daemon.json("get", "outbox", "--state", "failed"), []);
    const tasks = await daemon.settled();
    deepEqual(tasks.map(({ state }) => state), Array(round + 1).fill("succeeded"));
    const issues = fake.issues.issues.filter(({ user }) => user.id === TOKEN.id);
    equal(issues.length, round + 1, "one issue for each round");
    equal(fake.reviews.reviews.length, round + 1, "one review for each commit");
    const newest = tasks.toSorted((one, other) => one.id < other.id ? 1 : -1)[0]?.id ?? "none";
    for (const body of [issues.at(-1)?.body, fake.reviews.reviews.at(-1)?.body]) {
      ok(body?.startsWith(newest), `${body} is of ${newest}`);
    }
    // the next ones are new, although the earlier ones are known
    for (const issue of issues) issue.state = "closed";
    pull.sha = HEADS[1] ?? "";
  }
}

for (const isCarriedOut of [true, false]) {
  slowTest(
    `a daemon that is killed ${
      isCarriedOut ? "before the answer to" : "at"
    } what makes an issue and a review: one each`,
    async () => await survives(isCarriedOut),
  );
}
