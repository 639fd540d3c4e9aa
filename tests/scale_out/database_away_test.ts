/**
 * Daemons whose PostgreSQL goes away for a while: senders are told to come again, steps run on, and
 * nothing is lost or done twice once it is back.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import type { TestDaemon } from "../helpers/daemon.ts";
import { githubHeaders } from "../helpers/github.ts";
import { secretStore, trigger, workflow } from "../helpers/manifests.ts";
import { postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until, untilFile } from "../helpers/until.ts";
import { startCluster } from "../rigs/cluster.ts";

const SECRET = "a secret of the sender";
const BODY = '{"ref":"refs/heads/main"}';

/** The metrics of a daemon, which have to come. */
async function metricsOf(daemon: TestDaemon): Promise<string> {
  const { status, text } = await daemon.send("/metrics", { method: "GET" });
  equal(status, 200, text);
  return text;
}

const untilUp = (daemon: TestDaemon, up: 0 | 1) =>
  until(
    `svc_database_up ${up}`,
    async () => (await metricsOf(daemon)).includes(`\nsvc_database_up ${up}\n`) || undefined,
  );

postgresTest("PostgreSQL goes away and comes back: 503, and nothing is lost", async () => {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await tempDir());
  const args = ["--metrics", "--lease", "10m"]; // longer than any pause of this test
  const { daemons, cables } = stack.use(await startCluster(ONE_PROGRAM, 2, { args }));
  const [a, b] = daemons;
  ok(a !== undefined && b !== undefined);
  await a.apply(
    secretStore("github", { webhook_secret: SECRET }),
    workflow("record", "true"),
    trigger("push"),
    workflow(
      "long",
      `echo >"${path}/began"; until [ -e "${path}/go" ]; do sleep 0.1; done
       echo said while it was away; echo >"${path}/ended"`,
      "true",
    ),
    trigger("long", { workflow: "long", webhook: { allowUnsigned: true } }),
  );
  const headers = githubHeaders(SECRET, BODY, "push");
  const push = (daemon: TestDaemon) => daemon.send("/webhook/push", { headers, body: BODY });
  equal((await a.send("/webhook/long", { body: "{}" })).status, 200);
  await untilFile(`${path}/began`);
  await untilUp(a, 1);

  await Promise.all(cables.map((cable) => cable.cut()));
  for (const daemon of [a, b]) {
    const refused = await push(daemon);
    equal(refused.status, 503, refused.text);
    equal(refused.headers.get("retry-after"), "5");
    await untilUp(daemon, 0);
    const text = await metricsOf(daemon);
    match(text, /^svc_uptime_seconds /m);
    equal(/^svc_tasks\{/m.test(text), false, "what is not known is not there");
    equal((await daemon.send("/readyz", { method: "GET" })).status, 200);
  }
  await Deno.writeTextFile(`${path}/go`, "");
  await untilFile(`${path}/ended`);

  for (const cable of cables) cable.mend();
  for (const daemon of [a, b]) await untilUp(daemon, 1);
  const again = await until("a push that is taken", async () => {
    const answer = await push(b);
    return answer.status === 503 ? undefined : answer;
  });
  equal(again.status, 200, again.text);
  equal((await push(a)).json["status"], "duplicate");

  const tasks = await b.settled();
  deepEqual(
    tasks.map(({ trigger, state, restarts, steps }) => [
      trigger,
      state,
      restarts,
      ...steps.map(({ state }) => state),
    ]),
    [["push", "succeeded", 0, "succeeded"], ["long", "succeeded", 0, "succeeded", "succeeded"]],
  );
  const { stdout } = await b.svc(["task", "logs", tasks[1]?.id ?? ""]);
  equal(stdout, "said while it was away\n");

  cables[0]?.hold(); // packets are lost, and nothing says so
  await untilUp(a, 0);
  cables[0]?.release();
  await untilUp(a, 1);
});

postgresTest("the answer to a commit is lost: nothing is stored or run twice", async () => {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await tempDir());
  const { daemons: [a], cables: [cable] } = stack.use(await startCluster(ONE_PROGRAM, 1));
  ok(a !== undefined && cable !== undefined);
  await a.apply(
    secretStore("github", { webhook_secret: SECRET }),
    workflow("record", `echo ran >>"${path}/runs"; until [ -e "${path}/go" ]; do sleep 0.1; done`),
    trigger("push"),
  );
  const send = { headers: githubHeaders(SECRET, BODY, "push"), body: BODY };
  cable.loseNextCommit();
  equal((await a.send("/webhook/push", send)).status, 503, "it may be stored, or not");
  equal(cable.hasLostCommit, true);
  const again = await a.send("/webhook/push", send);
  deepEqual([again.status, again.json["status"]], [200, "duplicate"]);

  await untilFile(`${path}/runs`);
  cable.loseNextCommit();
  await Deno.writeTextFile(`${path}/go`, "");
  await until("the loss of the end of its task", () => cable.hasLostCommit || undefined);
  const tasks = await a.settled();
  deepEqual(tasks.map(({ state, restarts }) => [state, restarts]), [["succeeded", 0]]);
  equal(await Deno.readTextFile(`${path}/runs`), "ran\n");
});
