/**
 * Steps that wait for events and messages, from outside.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  notStrictEqual as notEqual,
  strictEqual as equal,
} from "node:assert/strict";
import { join } from "node:path";
import { parse } from "yaml";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, trigger } from "../helpers/manifests.ts";
import { ONE_PROGRAM, programTest, ROOT } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until } from "../helpers/until.ts";

const OPEN = { webhook: { allowUnsigned: true } };

/** A trigger whose events are only waited for. */
const WAITED: Manifest = {
  kind: "Trigger",
  metadata: { name: "checks" },
  spec: {
    event: {
      source: "webhook",
      webhook: { allowUnsigned: true },
      filter: { condition: 'payload?.kind == "check"' },
    },
  },
};

function workflow(name: string, waitFor: unknown): Manifest {
  const steps = [
    { id: "push", run: "true" },
    { id: "ci", waitFor },
    { id: "b", env: { C: "{{ steps.ci.outputs.conclusion }}" }, run: 'echo "was $C"' },
  ];
  return { kind: "Workflow", metadata: { name }, spec: { steps } };
}

const CI = {
  trigger: "checks",
  match: { "payload.sha": "{{ payload.sha }}" },
  if: 'payload.status == "completed"',
  outputs: { conclusion: "payload.conclusion" },
  timeout: "2h",
};

async function send(daemon: TestDaemon, name: string, body: unknown): Promise<string> {
  const { status, json } = await daemon.send(`/webhook/${name}`, { body: JSON.stringify(body) });
  equal(status, 200);
  return String(json["task_id"]);
}

const waiting = async (daemon: TestDaemon, count: number) =>
  await until(`${count} that wait`, async () => {
    const tasks = await daemon.json("get", "tasks", "--state", "waiting") as { id: string }[];
    return tasks.length === count ? tasks : undefined;
  }, 20_000);

const check = (sha: string, status: string, conclusion = "") => ({
  kind: "check",
  sha,
  status,
  conclusion,
});

programTest("a step waits for the event of its own commit, before and after", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  await daemon.apply(WAITED, workflow("fix", CI), trigger("fix", { ...OPEN, workflow: "fix" }));
  const one = await send(daemon, "fix", { sha: "a1" });
  const two = await send(daemon, "fix", { sha: "b2" });
  await waiting(daemon, 2);
  await send(daemon, "checks", check("b2", "started"));
  await send(daemon, "checks", check("zz", "completed", "no"));
  await send(daemon, "checks", { ...check("a1", "completed", "filtered"), kind: "other" });
  await send(daemon, "checks", check("a1", "completed", "success"));
  equal((await daemon.svc(["task", "wait", one])).code, 0);
  match((await daemon.svc(["logs", one])).stdout, /was success/);
  await waiting(daemon, 1);
  await send(daemon, "checks", check("b2", "completed", "failure"));
  equal((await daemon.svc(["task", "wait", two])).code, 0);
  match((await daemon.svc(["logs", two])).stdout, /was failure/);
  deepEqual(await daemon.json("get", "waits"), []);
});

programTest("the example of waiting for an event ships what CI has passed", async () => {
  const page = await Deno.readTextFile(join(ROOT, "docs/workflows.md"));
  const [, example = ""] = /^### For an event\n\n```yaml\n(.*?)^```/ms.exec(page) ?? [];
  await using daemon = await startDaemon(ONE_PROGRAM);
  await using files = await tempDir();
  const text = example.replace("$(git rev-parse HEAD)", "abc");
  notEqual(text, example);
  const manifests = text.split(/^---\n/m).map((one) => parse(one) as Manifest);
  await daemon.apply(...manifests, trigger("ship", { ...OPEN, workflow: "ship" }));
  const fire = (sha: string) => {
    const payload = { workflow_run: { head_sha: sha, status: "completed", conclusion: "success" } };
    const file = join(files.path, "event.json");
    Deno.writeTextFileSync(file, JSON.stringify(payload));
    return daemon.svc(["trigger", "fire", "ci-results", "-f", file]);
  };
  const task = await send(daemon, "ship", {});
  await waiting(daemon, 1);
  match((await fire("other")).stdout, /only waited for/);
  match((await daemon.svc(["get", "task", task])).stdout, /waiting/);
  await fire("abc");
  equal((await daemon.svc(["task", "wait", task])).code, 0);
  const [ended] = (await daemon.tasks()).filter(({ id }) => id === task);
  const ci = ended?.steps[1]?.outputs ?? {};
  equal(ci["conclusion"], "success");
  const explained = await daemon.svc(["delivery", "explain", String(ci["delivery_id"])]);
  match(explained.stdout, new RegExp(`ended the wait ci of task/${task}`));
});

programTest(
  "a task says which events came near to ending its wait, and why they did not",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    await daemon.apply(
      WAITED,
      workflow("fix", { ...CI, if: 'payload.run.status == "completed"' }),
      workflow("short", { ...CI, timeout: "2s" }),
      ...["fix", "short"].map((name) => trigger(name, { ...OPEN, workflow: name })),
    );
    const one = await send(daemon, "fix", { sha: "a1" });
    await waiting(daemon, 1);
    const described = async () => (await daemon.svc(["describe", "task", one])).stdout;
    match(await described(), /ci: none of the 0 newest deliveries of trigger checks came near/);
    for (const sha of ["zz", "zz", "a1", "a1"]) {
      await send(
        daemon,
        "checks",
        check(sha, "completed"),
      );
    }
    await send(daemon, "checks", { ...check("a1", "completed"), kind: "other" });
    using client = daemon.client();
    const { waits: [look, ...others] } = await client.call("task.waits", { id: one });
    equal(others.length, 0);
    deepEqual([look?.step, look?.trigger, look?.trigger_deleted, look?.looked], [
      "ci",
      "checks",
      false,
      4,
    ]);
    const [failing, differs, ...more] = look?.misses ?? [];
    match(failing?.why ?? "", /^its condition failed: /);
    equal(differs?.why, 'payload.sha is "zz", and it wants "a1"');
    deepEqual(more, [], "once for each reason");
    const text = await described();
    match(text, /ci: of the 4 newest deliveries of trigger checks, these came near/);
    match(text, /payload\.sha is "zz", and it wants "a1"/);

    const short = await send(daemon, "short", { sha: "b2" });
    await daemon.svc(["task", "wait", short]);
    const { stderr } = await daemon.svc(["task", "logs", short]);
    match(stderr, /did not end it: payload\.sha is "\w+", and it wants "b2"/);
    equal([...stderr.matchAll(/"zz"/g)].length, 1, stderr);

    equal((await daemon.svc(["delete", "trigger/checks", "--force"])).code, 0);
    match(await described(), /ci: trigger checks was deleted, so no event ends this wait/);
    match((await daemon.svc(["get", "waits"])).stdout, /ci +event of a deleted trigger/);
    const [wait] = await daemon.json("get", "waits") as unknown as Record<string, unknown>[];
    deepEqual([wait?.["event_trigger"], wait?.["event_trigger_deleted"]], ["checks", true]);
    await daemon.apply(WAITED);
    match((await daemon.svc(["get", "waits"])).stdout, /ci +event +/);
  },
);

programTest(
  "a wait that times out fails, or goes on; one continued by hand has its outputs",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    const never = { ...CI, timeout: "1s" };
    await daemon.apply(
      WAITED,
      workflow("strict", never),
      workflow("lax", { ...never, onTimeout: "continue", outputs: {} }),
      workflow("long", CI),
      workflow("nowhere", { ...CI, trigger: "gone" }),
      ...["strict", "lax", "long", "nowhere"].map((name) =>
        trigger(name, { ...OPEN, workflow: name })
      ),
    );
    const stepsOf = async (id: string) =>
      (await daemon.tasks()).find((task) => task.id === id)?.steps ?? [];
    const strict = await send(daemon, "strict", { sha: "a" });
    await daemon.svc(["task", "wait", strict]);
    match((await stepsOf(strict))[1]?.reason ?? "", /an event of trigger checks that did not come/);
    const lax = await send(daemon, "lax", { sha: "a" });
    await daemon.svc(["task", "wait", lax]);
    deepEqual((await stepsOf(lax))[1]?.outputs, { timed_out: "true" });
    const nowhere = await send(daemon, "nowhere", { sha: "a" });
    await daemon.svc(["task", "wait", nowhere]);
    match((await stepsOf(nowhere))[1]?.reason ?? "", /no Trigger "gone" in project "default"/);
    const empty = await send(daemon, "long", { sha: "" });
    await daemon.svc(["task", "wait", empty]);
    match((await stepsOf(empty))[1]?.reason ?? "", /"payload.sha" in "match" gave nothing/);
    const long = await send(daemon, "long", { sha: "a" });
    await waiting(daemon, 1);
    const done = await daemon.svc([
      "task",
      "continue",
      long,
      "ci",
      "--set",
      "conclusion=fine",
      "--reason",
      "CI is down",
    ]);
    equal(done.code, 0, done.stderr);
    await daemon.svc(["task", "wait", long]);
    match((await daemon.svc(["logs", long])).stdout, /was fine/);
  },
);
