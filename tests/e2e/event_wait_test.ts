/**
 * Steps that wait for events and messages, from outside.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, trigger } from "../helpers/manifests.ts";
import { ONE_PROGRAM, programTest } from "../helpers/program.ts";
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
