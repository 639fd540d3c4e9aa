/**
 * Steps that wait for events in a `repeat`, and steps that look at the events that ended waits.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, strictEqual as equal } from "node:assert/strict";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
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
    },
  },
};

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

const check = (sha: string, status: string, conclusion = "") => ({
  kind: "check",
  sha,
  status,
  conclusion,
});

/** A workflow that repeats until its check passes; `sha` is the output of each round's first step. */
function untilGreen(name: string, sha: string, since: string): Manifest {
  const ci = { ...CI, match: { "payload.sha": "{{ steps.push.outputs.sha }}" }, since };
  const steps = [
    { id: "push", run: `echo "sha=${sha}" >> "$SVC_OUTPUT"` },
    { id: "ci", waitFor: ci },
  ];
  const repeat = { max: 3, until: 'steps.ci.outputs.conclusion == "success"', steps };
  return { kind: "Workflow", metadata: { name }, spec: { steps: [{ id: "fix", repeat }] } };
}

programTest("each round of a repeat waits for its own event, also over a crash", async () => {
  await using directory = await initDataDirectory(ONE_PROGRAM);
  const tasks: string[] = [];
  const inRound = async (daemon: TestDaemon, round: number) =>
    await until(`round ${round} of ${tasks.length}`, async () => {
      const all = (await daemon.tasks()).flatMap(({ steps }) => steps);
      const waits = await daemon.json("get", "waits") as unknown[];
      const here = all.filter(({ id, state, round: of = 1 }) =>
        id === "ci" && state === "waiting" && of === round
      );
      return waits.length === tasks.length && here.length === tasks.length ? true : undefined;
    }, 60_000);
  {
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    await daemon.apply(
      WAITED,
      untilGreen("pushes", "r$SVC_ROUND", "task"),
      untilGreen("reruns", "same", "step"),
      ...["pushes", "reruns"].map((name) => trigger(name, { ...OPEN, workflow: name })),
    );
    for (const name of ["pushes", "reruns"]) tasks.push(await send(daemon, name, {}));
    await inRound(daemon, 1);
    for (const sha of ["r1", "same"]) await send(daemon, "checks", check(sha, "completed", "red"));
    await inRound(daemon, 2);
    await send(daemon, "checks", check("r1", "completed", "success"));
    await inRound(daemon, 2);
    await daemon.crash();
  }
  await using daemon = await startDaemon(ONE_PROGRAM, { directory });
  await inRound(daemon, 2);
  for (const sha of ["r2", "same"]) await send(daemon, "checks", check(sha, "completed", "red"));
  await inRound(daemon, 3);
  for (const sha of ["r3", "same"]) {
    await send(daemon, "checks", check(sha, "completed", "success"));
  }
  const ended = await daemon.settled();
  deepEqual(ended.map(({ state, reason }) => `${state} ${reason ?? ""}`.trim()), [
    "succeeded",
    "succeeded",
  ]);
  const ids = ended.map(({ steps }) =>
    steps.find(({ id }) => id === "ci")?.outputs?.["delivery_id"]
  );
  equal(new Set(ids).size, 2);
});

programTest("a step may show the event that ended its task's wait, and no other", async () => {
  await using daemon = await startDaemon(ONE_PROGRAM);
  const steps = [
    { id: "ci", waitFor: CI },
    {
      id: "look",
      env: { OWN: "{{ steps.ci.outputs.delivery_id }}", OTHER: "{{ payload.other }}" },
      run: 'svc delivery show "$OWN"; svc delivery show "$OTHER" || echo "refused with $?"',
    },
  ];
  await daemon.apply(
    WAITED,
    { kind: "Workflow", metadata: { name: "look" }, spec: { steps } },
    trigger("look", { ...OPEN, workflow: "look" }),
  );
  const body = JSON.stringify(check("zz", "completed", "of-another"));
  const other = (await daemon.send("/webhook/checks", { body })).json["delivery_id"];
  const task = await send(daemon, "look", { sha: "a1", other });
  await until("the wait", async () => {
    const waits = await daemon.json("get", "waits") as unknown[];
    return waits.length === 1 ? true : undefined;
  }, 60_000);
  await send(daemon, "checks", check("a1", "completed", "its-own"));
  equal((await daemon.svc(["task", "wait", task])).code, 0);
  const { stdout } = await daemon.svc(["logs", task]);
  match(stdout, /its-own/);
  match(stdout, /only with the delivery that started its own task, and those that it waited for/);
  match(stdout, /refused with/);
  equal(stdout.includes("of-another"), false);
});
