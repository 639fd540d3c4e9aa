/**
 * One webhook for several triggers, from outside: which of them start, with kills in between, and what
 * an operator sees of it.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { secretStore, toText, trigger, workflow } from "../helpers/manifests.ts";
import { ONE_PROGRAM, programTest, ROOT, slowTest, times } from "../helpers/program.ts";
import { rowsIn } from "../helpers/stored_rows.ts";

const SECRET = "a secret of 32 bytes, or so it is";
const FIXTURES = `${ROOT}/tests/fixtures/github`;
const SIGNED = { secret: { fromRef: "github" }, signatureHeader: "X-Hub-Signature-256" };

/** A trigger at an endpoint. */
function at(endpoint: string, name: string, condition: string, more: Record<string, unknown> = {}) {
  return trigger(name, { condition, webhook: { endpoint, ...SIGNED, ...more } });
}

interface Result {
  readonly trigger: string;
  readonly status: string;
  readonly delivery_id: string;
  readonly task_id?: string;
}

async function send(daemon: TestDaemon, path: string, event: string, body: string) {
  const headers = githubHeaders(SECRET, body, event);
  const { status, json } = await daemon.send(path, { headers, body });
  equal(status, 200);
  const results = (json["results"] ?? []) as readonly Result[];
  return { status: json["status"], results };
}

const accepted = (results: readonly Result[]) =>
  results.filter(({ status }) => status === "accepted").map((one) => one.trigger);

/** Events at GitHub, and which of six triggers each has to start. */
const EVENTS: readonly (readonly [event: string, file: string, starts: readonly string[]])[] = [
  ["push", "push.json", ["github-push"]],
  ["pull_request", "pull_request.json", ["github-pull-request", "second-look"]],
  ["issue_comment", "issue_comment.json", ["anything-at-17", "github-issue-comment"]],
  ["release", "release.json", ["github-release"]],
];

programTest(
  "one webhook with four events starts the right ones of six triggers",
  async (program) => {
    await using daemon = await startDaemon(program);
    const secret = ["--set-secret", "webhook_secret=-"];
    const installed = await daemon.svc(["integration", "install", "github", ...secret], {
      stdin: SECRET,
    });
    match(installed.stdout, /^ {2}\S+\/webhook\/github\n( {4}for github-\S+\n){4}$/m);
    await daemon.apply(
      workflow("record", ":"),
      at("github", "second-look", "has(payload.pull_request) && has(payload.number)"),
      at("github", "anything-at-17", "payload?.issue.number == 17", { dedup: "bytes" }),
    );
    const ping = '{"zen":"Keep it logically awesome.","hook_id":401562837}';
    equal((await send(daemon, "/webhook/github", "ping", ping)).status, "pong");
    for (const [event, file, starts] of EVENTS) {
      const body = await Deno.readTextFile(`${FIXTURES}/${file}`);
      const { status, results } = await send(daemon, "/webhook/github", event, body);
      equal(status, "accepted");
      equal(results.length, 6);
      deepEqual(accepted(results), starts, event);
    }
    const tasks = await daemon.settled();
    deepEqual(tasks.map(({ trigger }) => trigger).sort(), EVENTS.flatMap(([, , s]) => s).sort());
    deepEqual([...new Set(tasks.map(({ state, reason }) => `${state}${reason}`))], ["succeeded"]);
    await operatorsView(daemon);
  },
);

slowTest("the trigger of docs/answers.md and the package share an address", async () => {
  const page = await Deno.readTextFile(`${ROOT}/docs/answers.md`);
  const manifest = /^```yaml\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? "";
  match(manifest, /scheme: github/);
  const install = ["integration", "install", "github", "--set-secret", "webhook_secret=-"];
  const steps = [
    (daemon: TestDaemon) => daemon.svc(install, { stdin: SECRET }),
    (daemon: TestDaemon) => daemon.svc(["apply", "-f", "-"], { stdin: manifest }),
  ];
  for (const order of [steps, steps.toReversed()]) {
    await using daemon = await startDaemon(ONE_PROGRAM);
    for (const step of order) {
      const { code, stdout, stderr } = await step(daemon);
      equal(code, 0, stdout + stderr);
    }
    await daemon.apply(workflow("review", ":"));
    const body = await Deno.readTextFile(`${FIXTURES}/issue_comment.json`);
    const { results } = await send(daemon, "/webhook/github", "issue_comment", body);
    deepEqual(accepted(results).toSorted(), ["github-issue-comment", "review"]);
  }
});

/** What lists, descriptions and tools say of a trigger that shares its address. */
async function operatorsView(daemon: TestDaemon): Promise<void> {
  const wide = await daemon.svc(["get", "triggers", "-o", "wide"]);
  match(wide.stdout, /ENDPOINT/);
  match(wide.stdout, /^second-look .* github /m);
  const described = await daemon.svc(["describe", "trigger/second-look"]);
  match(described.stdout, /^Address: +\S+\/webhook\/github$/m);
  match(described.stdout, /^Own address: +\S+\/webhook\/second-look$/m);
  const of = async (name: string) =>
    await daemon.json("get", "deliveries", "--trigger", name) as {
      id: string;
      outcome: string;
      task_id: string | null;
    }[];
  const own = await of("second-look");
  deepEqual(own.map(({ outcome }) => outcome).sort(), [
    "accepted",
    "filtered",
    "filtered",
    "filtered",
    "handshake",
  ]);
  const [first] = own.filter(({ outcome }) => outcome === "accepted");
  const shown = await daemon.svc(["delivery", "show", first?.id ?? "", "--body"]);
  equal(shown.stdout, await Deno.readTextFile(`${FIXTURES}/pull_request.json`));
  const explained = await daemon.svc(["delivery", "explain", first?.id ?? ""]);
  match(explained.stdout, /has\(payload\.pull_request\)/);
  const again = await daemon.svc(["delivery", "redeliver", first?.id ?? ""]);
  equal(again.code, 0, again.stderr);
  equal((await daemon.settled()).filter((one) => one.trigger === "second-look").length, 2);
  equal((await of("github-push")).length, 5, "the others have nothing of that");
  await Deno.writeTextFile(`${daemon.dataDir}/pull.json`, shown.stdout);
  const alone = ["trigger", "send", "second-look", "-f", `${daemon.dataDir}/pull.json`];
  equal((await daemon.svc(alone)).code, 0);
  equal((await of("github-push")).length, 5, "its own address fires it alone");
  const lost = await daemon.send("/webhook/githb", { body: "{}" });
  equal(lost.status, 404);
  const unknown = await daemon.svc(["get", "deliveries", "--unknown"]);
  match(unknown.stdout, /POST +\/webhook\/githb .* POST \/webhook\/github$/m);
  const proposed = toText([at("github", "second-look", "payload.number == 1")]);
  const backtest = ["apply", "-f", "-", "--dry-run", "--against", "1h"];
  const { stdout, code } = await daemon.svc(backtest, { stdin: proposed });
  equal(code, 0);
  match(stdout, /accepted → filtered/);
  const differs = toText([at("github", "second-look", "true", { toleranceSecs: 9 })]);
  const refused = await daemon.svc(["apply", "-f", "-"], { stdin: differs });
  equal(refused.code, 1);
  match(
    refused.stderr,
    /Triggers "\S+" and "second-look" share the endpoint "github" and differ in/,
  );
}

const REQUESTS = 1500;
const AT_ONCE = 32;
const ROUNDS = times(6, 2);
/** After how many answers the daemon is killed, round by round. */
const KILLS = ROUNDS.of([1, 40, 200, 15, 80, 130, 300, 450, 700, 1100]);
/** Six triggers, of which each takes the numbers that it divides. */
const DIVISORS = [1, 2, 3, 4, 5, 6];

slowTest(
  `kill -9 in a burst to one address of six triggers: all of a request or nothing${ROUNDS.inName}`,
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const answered: Result[] = [];
    for (const killAfter of KILLS) {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory });
      await daemon.apply(
        secretStore("github", { webhook_secret: SECRET }),
        ...DIVISORS.map((n) => ({
          ...at("hub", `by-${n}`, `payload.number % ${n} == 0`, { dedup: "bytes" }),
        })),
      );
      answered.push(...await burst(daemon, killAfter));
      await expectWhole(directory.path, answered);
    }
    ok(answered.length > 0);
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    await daemon.settled(300_000);
    await expectWhole(directory.path, answered);
  },
);

let next = 1;

/** Sends requests; kills the daemon after `killAfter` answers; gives what was answered. */
async function burst(daemon: TestDaemon, killAfter: number): Promise<Result[]> {
  const answered: Result[] = [];
  const until = next + REQUESTS;
  let answers = 0;
  let killed: Promise<void> | undefined;
  const work = async () => {
    while (next < until && killed === undefined) {
      const body = `{"number":${next++},"filler":"${"x".repeat(200)}"}`;
      const headers = githubHeaders(SECRET, body);
      const answer = await daemon.send("/webhook/hub", { headers, body }).catch(() => undefined);
      if (answer === undefined) return; // the daemon is gone, and nothing was promised
      equal(answer.status, 200);
      answered.push(...answer.json["results"] as Result[]);
      if (++answers >= killAfter) killed ??= daemon.crash();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  await killed;
  return answered;
}

/** Every request that is stored is so for all six, with the right tasks; and all that was answered is. */
async function expectWhole(dataDir: string, answered: readonly Result[]): Promise<void> {
  const rows = await rowsIn(
    dataDir,
    `SELECT id, "trigger", task_id, outcome, COALESCE(content_of, id) AS request, body,
       (SELECT count(*) FROM tasks WHERE tasks.id = task_id) AS tasks
     FROM deliveries ORDER BY id`,
  );
  const requests = new Map<unknown, Record<string, unknown>[]>();
  for (const row of rows) {
    requests.set(row["request"], [...requests.get(row["request"]) ?? [], row]);
  }
  for (const [request, group] of requests) {
    const body = group.find((row) => row["id"] === request)?.["body"];
    const { number } = JSON.parse(new TextDecoder().decode(body as Uint8Array));
    const found = group.map((row) => `${row["trigger"]} ${row["outcome"]} ${row["tasks"]}`);
    deepEqual(
      found.toSorted(),
      DIVISORS.map((n) => `by-${n} ${number % n === 0 ? "accepted 1" : "filtered 0"}`),
      `request ${number}`,
    );
  }
  const stored = new Map(rows.map((row) => [row["id"], row["task_id"]]));
  const lost = answered.filter((one) => stored.get(one.delivery_id) !== (one.task_id ?? ""));
  deepEqual(lost, [], `${lost.length} of ${answered.length} lost`);
}
