/**
 * Steps that wait, from outside: listed, continued by hand, cancelled; and the daemon is killed again
 * and again while tasks open waits, wait and go on. Each comes to one end, and none is forgotten.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { initDataDirectory, startDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, trigger } from "../helpers/manifests.ts";
import { longTest, ONE_PROGRAM, programTest } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";

const OPEN = { webhook: { allowUnsigned: true } };

function workflow(name: string, time: string): Manifest {
  const steps = [
    { id: "a", run: "true" },
    { id: "pause", waitFor: { for: time } },
    { id: "b", run: "true" },
  ];
  const last = [{ id: "z", run: "true" }];
  return { kind: "Workflow", metadata: { name }, spec: { steps, finally: last } };
}

async function send(daemon: TestDaemon, name: string, n: number): Promise<string> {
  const { status, json } = await daemon.send(`/webhook/${name}`, { body: `{"n":${n}}` });
  equal(status, 200);
  return String(json["task_id"]);
}

const waiting = async (daemon: TestDaemon, count: number) =>
  await until(`${count} that wait`, async () => {
    const tasks = await daemon.json("get", "tasks", "--state", "waiting") as { id: string }[];
    return tasks.length === count ? tasks : undefined;
  });

programTest(
  "a task that waits is seen, and goes on by hand, or ends by a cancellation",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM);
    await daemon.apply(workflow("rest", "10m"), trigger("rest", { ...OPEN, workflow: "rest" }));
    const [one, two] = [await send(daemon, "rest", 1), await send(daemon, "rest", 2)];
    await waiting(daemon, 2);
    const listed = await daemon.svc(["get", "waits"]);
    equal(listed.stdout.split("\n").filter((line) => / pause +time /.test(line)).length, 2);
    match((await daemon.svc(["get", "task", one])).stdout, /step pause waits until /);
    match((await daemon.svc(["status"])).stdout, /0 running, 0 pending, 2 waiting/);
    match((await daemon.svc(["task", "plan", one])).stdout, /pause +waits 10m/);
    const described = (await daemon.svc(["describe", `task/${one}`])).stdout;
    match(described, new RegExp(`svc task continue ${one} pause --reason`));

    const unsaid = await daemon.svc(["task", "continue", one, "pause"]);
    deepEqual([unsaid.code, /Say why/.test(unsaid.stderr)], [2, true]);
    const gone = await daemon.svc(["task", "continue", one, "pause", "--reason", "it is out"]);
    deepEqual([gone.code, gone.stdout], [0, `task/${one}: step "pause" goes on\n`]);
    equal((await daemon.svc(["task", "wait", one])).code, 0);
    const late = await daemon.svc(["task", "continue", one, "pause", "--reason", "again"]);
    deepEqual([late.code, /has ended/.test(late.stderr)], [1, true]);
    const cancelled = await daemon.svc(["task", "cancel", two]);
    deepEqual([cancelled.code, cancelled.stdout], [0, `task/${two} cancelled\n`]);
    const tasks = await daemon.tasks();
    const stepsOf = (id: string) => tasks.find((task) => task.id === id)?.steps ?? [];
    deepEqual(stepsOf(one).map(({ id, state }) => `${id} ${state}`), [
      ...["a", "pause", "b", "z"].map((id) => `${id} succeeded`),
    ]);
    deepEqual(stepsOf(two).map(({ state }) => state), [
      "succeeded",
      "cancelled",
      "skipped",
      "succeeded",
    ]);
    deepEqual(await daemon.json("get", "waits"), []);
  },
);

/** Milliseconds after which each daemon is killed, counted from when its task began. */
const KILLS = [0, 30, 80, 150, 240, 400, 600, 900, 1200, 1600, 60, 300];

longTest(
  `kill -9 while tasks wait, ${KILLS.length} times: each goes on, once, and none is forgotten`,
  async () => {
    await using directory = await initDataDirectory(ONE_PROGRAM);
    const ids: string[] = [];
    for (const [round, killAfterMs] of KILLS.entries()) {
      await using daemon = await startDaemon(ONE_PROGRAM, { directory });
      await daemon.apply(
        workflow("nap", "1s"),
        workflow("night", "8s"),
        trigger("nap", { ...OPEN, workflow: "nap" }),
        trigger("night", { ...OPEN, workflow: "night" }),
      );
      for (const name of ["nap", "night"]) ids.push(await send(daemon, name, round));
      await new Promise((resolve) => setTimeout(resolve, killAfterMs));
      await daemon.crash();
    }
    await using daemon = await startDaemon(ONE_PROGRAM, { directory });
    const tasks = await daemon.settled(120_000);
    deepEqual(tasks.map(({ id }) => id).toSorted(), ids.toSorted());
    const ends = tasks.map(({ state, reason }) => `${state} ${reason ?? ""}`.trim());
    deepEqual(ends.filter((end) => !["succeeded", "failed interrupted"].includes(end)), []);
    const succeeded = tasks.filter(({ state }) => state === "succeeded");
    ok(succeeded.length >= ids.length - 4, `${succeeded.length} of ${ids.length}`);
    for (const { steps, id } of succeeded) {
      deepEqual(steps.map((step) => `${step.id} ${step.state}`), [
        ...["a", "pause", "b", "z"].map((step) => `${step} succeeded`),
      ], id);
    }
    deepEqual(await daemon.json("get", "waits"), []);
    const checked = await daemon.svc(["db", "check"]);
    equal(checked.code, 0, checked.stdout + checked.stderr);
  },
);
