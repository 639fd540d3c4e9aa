/**
 * What is asked of a node about tasks that another one runs: cancel, inbox, logs and retry, also when
 * the one that runs them dies in the middle.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import type { TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, trigger, workflow } from "../helpers/manifests.ts";
import { postgresTest } from "../helpers/postgres.ts";
import { ONE_PROGRAM, type RunResult } from "../helpers/program.ts";
import { until } from "../helpers/until.ts";
import { startCluster } from "../rigs/cluster.ts";

/** Says where it runs, and waits until its inbox says to end. */
const LISTEN = `echo "runs in $SVC_DATA_DIR"
until grep -q stop "$SVC_INBOX"; do sleep 0.1; done
echo heard`;

/** A trigger that anybody may call, in this workspace. */
function calledBy(name: string, workspace = "default"): Manifest {
  const { kind, metadata, spec } = trigger(name, {
    workflow: name.replace(/-.*/, ""),
    webhook: { allowUnsigned: true },
  });
  const action = Object.assign({}, spec["action"], { workspace });
  return { kind, metadata, spec: Object.assign({}, spec, { action }) };
}

const MANIFESTS: readonly Manifest[] = [
  {
    kind: "Workspace",
    metadata: { name: "own" },
    spec: { path: "workspaces/default", isolation: "copy" },
  },
  workflow("listen", "echo first", LISTEN),
  workflow("twice", 'echo made >"made-$SVC_TASK_ID"', 'test -e "$SVC_DATA_DIR/go"'),
  calledBy("listen"),
  calledBy("twice"),
  calledBy("twice-own", "own"),
];

/** Runs a command that has to go well. */
async function svc(daemon: TestDaemon, ...args: readonly string[]): Promise<RunResult> {
  const result = await daemon.svc(args);
  equal(result.code, 0, `${args.join(" ")}: ${result.stderr}`);
  return result;
}

/** Starts a task over one daemon, while only the other one takes tasks; gives its id. */
async function start(daemon: TestDaemon, name: string): Promise<string> {
  const { status, json, text } = await daemon.send(`/webhook/${name}`, { body: "{}" });
  equal(status, 200, text);
  return String(json["task_id"]);
}

/** The task, as a daemon shows it. */
async function taskOf(daemon: TestDaemon, id: string) {
  const task = (await daemon.tasks()).find((one) => one.id === id);
  ok(task !== undefined, id);
  return task;
}

const untilState = (daemon: TestDaemon, id: string, state: string) =>
  until(`task ${id} ${state}`, async () => {
    const task = await taskOf(daemon, id);
    return task.state === state ? task : undefined;
  });

/** Until the output of a task, as this daemon reads it, holds a text. */
const untilSaid = (daemon: TestDaemon, id: string, text: string) =>
  until(`"${text}" of task ${id}`, async () => {
    const { stdout } = await daemon.svc(["task", "logs", id]);
    return stdout.includes(text) || undefined;
  });

postgresTest("a node is asked about tasks of another one, which dies", async (t) => {
  const args = ["--lease", "10s"];
  await using cluster = await startCluster(ONE_PROGRAM, 2, { args });
  const [a, b] = cluster.daemons;
  ok(a !== undefined && b !== undefined);
  await a.apply(...MANIFESTS);
  await svc(a, "node", "drain", "a");

  await t.step(
    "logs are followed and the inbox is filled where the task does not run",
    async () => {
      const id = await start(a, "listen");
      const followed = svc(a, "task", "logs", id, "--follow");
      await untilSaid(a, id, `runs in ${b.dataDir}`);
      await svc(a, "task", "inbox", id, "--send", "stop");
      equal((await followed).stdout, `first\nruns in ${b.dataDir}\nheard\n`);
      equal((await untilState(a, id, "succeeded")).restarts, 0);
    },
  );

  await t.step("a task is cancelled where it does not run", async () => {
    const id = await start(a, "listen");
    await untilSaid(a, id, `runs in ${b.dataDir}`);
    await svc(a, "task", "cancel", id, "--reason", "enough");
    match((await untilState(a, id, "cancelled")).reason, /enough/);
  });

  for (const name of ["twice", "twice-own"]) {
    await t.step(`a retry keeps steps on the node that ran them (${name})`, async () => {
      const id = await start(a, name);
      await untilState(a, id, "failed");
      await svc(a, "node", "drain", "a", "--undo");
      const { code, stderr } = await a.svc(["task", "workspace", id]);
      ok(code !== 0 && /ran on node "b": run this there/.test(stderr), stderr);
      await Deno.writeTextFile(`${b.dataDir}/go`, "");
      const { stderr: note, stdout } = await svc(a, "task", "retry", id);
      match(note + stdout, /It runs on node "b"/);
      const [again] = await a.tasks();
      ok(again !== undefined && again.id !== id);
      await untilState(a, again.id, "succeeded"); // at a, it would miss the file
      await Deno.remove(`${b.dataDir}/go`);
      await svc(a, "node", "drain", "a");
    });
  }

  await t.step("the node that runs tasks dies, and the other one answers for it", async () => {
    const [failed, heard, cancelled] = [
      await start(a, "twice"),
      await start(a, "listen"),
      await start(a, "listen"),
    ];
    await untilState(a, failed, "failed");
    for (const id of [heard, cancelled]) await untilSaid(a, id, `runs in ${b.dataDir}`);
    const followed = svc(a, "task", "logs", heard, "--follow");
    await svc(a, "node", "drain", "a", "--undo");
    await b.crash();

    await svc(a, "task", "cancel", cancelled, "--reason", "its node is gone");
    await svc(a, "task", "inbox", heard, "--send", "stop");
    await svc(a, "task", "retry", failed);
    const [again] = await a.tasks();
    ok(again !== undefined && again.id !== failed);

    match((await untilState(a, cancelled, "cancelled")).reason, /its node is gone/);
    const { restarts, steps } = await untilState(a, heard, "succeeded");
    deepEqual([restarts, ...steps.map(({ state }) => state)], [1, "succeeded", "succeeded"]);
    const { stdout, stderr } = await followed;
    const before = `first\nruns in ${b.dataDir}\n`;
    equal(stdout, `${before}first\nruns in ${a.dataDir}\nheard\n`, "from its first step again");
    match(stderr, /node "a" took over from node "b"; the task starts over/);
    equal(/restarted/.test(stderr), false);
    match(a.log, /task taken over from another node, starts over.* from=b to=a/);

    equal((await taskOf(a, again.id)).state, "pending", "what it keeps is on the other node");
    await Deno.writeTextFile(`${a.dataDir}/go`, "");
    await svc(a, "node", "forget", "b");
    await untilState(a, again.id, "succeeded");
    match(await Deno.readTextFile(`${a.workspace}/made-${again.id}`), /made/);
  });
});
