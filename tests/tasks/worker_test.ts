/**
 * Tasks from the queue to their end: a real store, real processes, the machine's own clock.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import type { Store } from "../../src/store/store.ts";
import type { Task } from "../../src/store/task_records.ts";
import { logPath } from "../../src/store/files/log_files.ts";
import { processRuns, until, untilFile } from "../helpers/until.ts";
import { countsOf, taskIdOf } from "../helpers/store_records.ts";
import { within } from "../helpers/within.ts";
import { manifestResources } from "../rigs/webhook_rig.ts";
import {
  claimAndCrash,
  type Rig,
  SECRETS,
  takeOverAndCrash,
  testWithRig as test,
} from "../rigs/worker_rig.ts";
import { NOT_SLOW } from "../helpers/program.ts";

/** Queues one task and runs it to its end. */
async function runOne(rig: Rig, workflow: string, payload?: string | Uint8Array): Promise<Task> {
  const id = await rig.queue(1, workflow, payload);
  (await rig.start()).kick();
  return await rig.ended(id);
}

const steps = (task: Task) => task.steps.map(({ id, state, exitCode }) => [id, state, exitCode]);

test("steps run in order, in the workspace, and are recorded", async (rig) => {
  const task = await runOne(
    rig,
    '{steps: [{id: one, run: "echo 1 >> log; pwd"}, {id: two, run: "echo 2 >> log; cat log"}]}',
  );
  deepEqual([task.state, task.reason, task.restarts], ["succeeded", "", 0]);
  deepEqual(steps(task), [["one", "succeeded", 0], ["two", "succeeded", 0]]);
  ok(task.steps.every((step) => (step.startedAt ?? 0) <= (step.finishedAt ?? -1)));
  ok((task.startedAt ?? 0) >= task.createdAt && (task.finishedAt ?? 0) >= (task.startedAt ?? 0));
  equal((await rig.printed(task.id, "one")).out.trim(), await Deno.realPath(rig.workspace));
  equal((await rig.printed(task.id, "two")).out, "1\n2\n");
});

for (const when of ["while a claim is under way", "when a claim has just been answered"] as const) {
  test(`a kick ${when} is heard: the task that came since does not wait for the next`, async (rig) => {
    const answered = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    let claims = 0;
    const worker = await rig.start(1, {
      async claimTasks(...query) {
        const claimed = await rig.store.claimTasks(...query);
        if (++claims > 1) return claimed;
        answered.resolve();
        await gate.promise;
        return claimed;
      },
    });
    await answered.promise; // with nothing, and the worker does not know yet
    const id = await rig.queue(1, '{steps: [{id: one, run: "true"}]}');
    if (when === "when a claim has just been answered") gate.resolve();
    worker.kick();
    gate.resolve();
    equal((await rig.ended(id)).state, "succeeded");
  });
}

test("a step that fails ends the task, and the rest is skipped", async (rig) => {
  const task = await runOne(
    rig,
    '{steps: [{id: a, run: "true"}, {id: b, run: "echo why >&2; exit 3"}, {id: c, run: "touch c"}]}',
  );
  deepEqual([task.state, task.reason], ["failed", 'step "b": exit code 3']);
  deepEqual(steps(task), [["a", "succeeded", 0], ["b", "failed", 3], ["c", "skipped", undefined]]);
  equal((await rig.printed(task.id)).err, "why\n");
  deepEqual([...Deno.readDirSync(rig.workspace)], []);
});

test("a step that is killed says by what", async (rig) => {
  const task = await runOne(rig, "{steps: [{id: a, run: kill -9 $$}]}");
  deepEqual([task.state, task.reason], ["failed", 'step "a": killed by SIGKILL']);
  deepEqual(steps(task), [["a", "failed", 137]]);
});

test("a step that takes longer than its timeout is ended, and the task with it", async (rig) => {
  const task = await runOne(
    rig,
    "{steps: [{id: a, run: exec sleep 600, timeout: 1}, {id: b, run: touch b}]}",
  );
  deepEqual([task.state, task.reason], [
    "failed",
    'step "a": timed out after 1s, the step\'s timeout',
  ]);
});

test("the timeout of a task counts over its steps", async (rig) => {
  const task = await runOne(
    rig,
    "{timeout: 3s, steps: [{id: a, run: sleep 0.6}, {id: b, run: exec sleep 600}, {id: c, run: touch c}]}",
  );
  deepEqual([task.state, task.reason], [
    "failed",
    'step "b": timed out with its task, whose timeout is 3s',
  ]);
  deepEqual(steps(task).map(([, state]) => state), ["succeeded", "failed", "skipped"]);
}, { skip: NOT_SLOW });

test("a timeout also ends a process that left the group of its step", async (rig) => {
  const id = await rig.queue(
    1,
    "{steps: [{id: a, run: setsid sleep 60 & echo $! > pid; wait, timeout: 1}]}",
  );
  (await rig.start()).kick();
  await rig.ended(id);
  equal(await processRuns(Number(await untilFile(`${rig.workspace}/pid`))), false);
});

test("a step has a clean environment, its task's names, and the program's bin first", async (rig) => {
  Deno.env.set("SVC_TEST_LEAK", "leaked");
  const task = await runOne(rig, "{steps: [{id: a, run: env -0}]}");
  Deno.env.delete("SVC_TEST_LEAK");
  const { out } = await rig.printed(task.id);
  const env = Object.fromEntries(
    out.split("\0").filter((line) => line !== "").map((line) => [
      line.slice(0, line.indexOf("=")),
      line.slice(line.indexOf("=") + 1),
    ]),
  );
  const { SVC_PAYLOAD_FILE = "", SVC_RUN_TOKEN = "", _, PWD, OLDPWD, ...others } = env;
  const { SVC_INBOX = "", SVC_OUTPUT = "", SVC_TASK_RUN = "", ...rest } = others;
  deepEqual(rest, {
    FROM: "workspace",
    HOME: "/home/of/daemon",
    LEVEL: "workspace",
    PATH: `${rig.dirs.bin}:/usr/bin:/bin`,
    SVC_DATA_DIR: rig.dirs.root,
    SVC_DELIVERY_ID: task.deliveryId,
    SVC_ATTEMPT: "1",
    SVC_PROJECT: "default",
    SVC_STEP: "a",
    SVC_STEP_RUN: `${SVC_TASK_RUN}.0.1`,
    SVC_TASK_ID: task.id,
    SVC_TRIGGER: "push",
    SVC_WORKFLOW: "ci",
    SVC_WORKSPACE: "repo",
  });
  ok([SVC_PAYLOAD_FILE, SVC_INBOX, SVC_OUTPUT].every((path) => path.startsWith(rig.dirs.root)));
  ok(SVC_RUN_TOKEN.length >= 32);
  ok(SVC_TASK_RUN.startsWith(`${task.id}.`));
  ok([_, PWD, OLDPWD].every((one) => one !== "leaked"));
});

test("env is filled from templates: the step's over the workflow's over the workspace's", async (rig) => {
  const task = await runOne(
    rig,
    `{env: {LEVEL: workflow, N: "{{ payload.n }}", TEXT: "{{ payload_text }} {{payload.list}}"},
      steps: [{id: a, env: {LEVEL: step, EVENT: '{{ headers["x-github-event"] }}', ID: "{{ task.id }}",
        BIG: "{{ payload.big }}", ALL: "{{ payload }}"},
      run: 'printf "%s|" "$LEVEL" "$FROM" "$N" "$TEXT" "$EVENT" "$ID" "$BIG" "$ALL"'}]}`,
    '{"n":7,"text":"$(touch pwned) `x` \'\\"","list":[1,"a"],"big":9007199254740993}',
  );
  equal(task.state, "succeeded", task.reason);
  equal(
    (await rig.printed(task.id)).out,
    [
      "step",
      "workspace",
      "7",
      '$(touch pwned) `x` \'" [1,"a"]',
      "push",
      task.id,
      "9007199254740993",
      '{"n":7,"text":"$(touch pwned) `x` \'\\"","list":[1,"a"],"big":9007199254740993}',
      "",
    ].join("|"),
  );
  deepEqual([...Deno.readDirSync(rig.workspace)], []);
});

const UNFILLED: readonly { what: string; env: string; reason: RegExp }[] = [
  {
    what: "no such field",
    env: '{A: "{{ payload.none }}"}',
    reason: /payload\.none.* has no value/,
  },
  { what: "no such variable", env: '{A: "{{ payload_none }}"}', reason: /payload_none/ },
  { what: "a NUL", env: '{A: "{{ payload.nul }}"}', reason: /A holds a NUL/ },
  { what: "far too long", env: '{A: "{{ payload.long }}"}', reason: /too long/ },
  {
    what: "no such store",
    reason: /SecretStore "none" does not exist/,
    env: "{A: {fromSecret: {store: none, key: api}}}",
  },
  {
    what: "no such key",
    reason: /"tokens" has no key "none"/,
    env: "{A: {fromSecret: {store: tokens, key: none}}}",
  },
];

for (const { what, env, reason } of UNFILLED) {
  test(`a variable that cannot be filled (${what}) fails its step with the reason`, async (rig) => {
    const payload = JSON.stringify({ nul: "a\0b", long: "x".repeat(200_000) });
    const task = await runOne(rig, `{steps: [{id: a, env: ${env}, run: touch ran}]}`, payload);
    equal(task.state, "failed");
    match(task.reason, /^step "a": /);
    match(task.reason, reason);
    deepEqual([...Deno.readDirSync(rig.workspace)], []);
  });
}

test("a secret reaches the step as it is, and its log as ***", async (rig) => {
  const task = await runOne(
    rig,
    `{steps: [{id: a, env: {TOKEN: {fromSecret: {store: tokens, key: api}}}, run: '
      printf %s "$TOKEN" > file;
      echo "token: $TOKEN"; echo "$TOKEN" >&2;
      printf %s "$TOKEN" | base64;
      for c in s3cr 3t-t 0k3n/ +=; do printf %s "$c"; sleep 0.05; done'}]}`,
  );
  equal(task.state, "succeeded", task.reason);
  equal(await Deno.readTextFile(`${rig.workspace}/file`), "s3cr3t-t0k3n/+=");
  const { out, err } = await rig.printed(task.id);
  equal(out, "token: ***\n***\n***");
  equal(err, "***\n");
  const raw = await Deno.readTextFile(logPath(rig.dirs.logs, task.id));
  ok(!raw.includes("t0k3n") && !rig.logged.join().includes("t0k3n"));
});

test("a secret that one step leaves for the next is hidden there, too", async (rig) => {
  const task = await runOne(
    rig,
    `{steps: [
      {id: a, env: {TOKEN: {fromSecret: {store: tokens, key: api}}}, run: 'printf %s "$TOKEN" > file'},
      {id: b, run: cat file}]}`,
  );
  equal((await rig.printed(task.id)).out, "***");
});

test("a step gets the secret that is stored when it starts", async (rig) => {
  const id = await rig.queue(
    1,
    `{steps: [
      {id: a, run: 'until [ -e go ]; do sleep 0.02; done'},
      {id: b, env: {TOKEN: {fromSecret: {store: tokens, key: api}}}, run: 'printf %s "$TOKEN" > file'}]}`,
  );
  (await rig.start()).kick();
  const later = manifestResources(SECRETS.replace("s3cr3t-t0k3n/+=", "rotated-value"));
  rig.catalog.change(later.map((resource) => ({ op: "put", resource })));
  await Deno.writeTextFile(`${rig.workspace}/go`, "");
  await rig.ended(id);
  equal(await Deno.readTextFile(`${rig.workspace}/file`), "rotated-value");
});

test("a task runs the plan it was stored with, even if another workflow is applied later", async (rig) => {
  const first = await rig.queue(1, "{steps: [{id: old, run: echo old}]}");
  const second = await rig.queue(2, "{steps: [{id: new, run: echo new}]}");
  rig.catalog.change([{
    op: "delete",
    key: { kind: "Workflow", project: "default", name: "ci" },
  }]);
  (await rig.start()).kick();
  await Promise.all([rig.ended(first), rig.ended(second)]);
  equal((await rig.printed(first)).out, "old\n");
  equal((await rig.printed(second)).out, "new\n");
});

test("$SVC_PAYLOAD_FILE holds the exact bytes, for its owner alone, until the task has ended", async (rig) => {
  const payload = new TextEncoder().encode(' {"a" : 1e999,\t"b":"\\u00e9é","c":1.0} \n');
  const task = await runOne(
    rig,
    `{steps: [{id: a, run: 'cp "$SVC_PAYLOAD_FILE" copy; stat -c %a "$SVC_PAYLOAD_FILE"; echo x > "$SVC_PAYLOAD_FILE"'},
      {id: b, run: 'ls -d "$(dirname "$SVC_PAYLOAD_FILE")"'}]}`,
    payload,
  );
  equal(task.state, "succeeded", task.reason);
  deepEqual(await Deno.readFile(`${rig.workspace}/copy`), payload);
  equal((await rig.printed(task.id, "a")).out, "600\n");
  deepEqual([...Deno.readDirSync(rig.dirs.run)], []);
});

test("a payload of 5 MiB arrives whole", async (rig) => {
  const payload = JSON.stringify({ text: "x".repeat(5 << 20) });
  const task = await runOne(rig, `{steps: [{id: a, run: 'wc -c < "$SVC_PAYLOAD_FILE"'}]}`, payload);
  equal((await rig.printed(task.id)).out.trim(), String(payload.length));
});

test("a workspace that is not there fails the task with its path", async (rig) => {
  const id = await rig.queue(1, '{steps: [{id: a, run: "true"}]}');
  await Deno.remove(rig.workspace);
  (await rig.start()).kick();
  const task = await rig.ended(id);
  equal(task.state, "failed");
  match(task.reason, new RegExp(`^Workspace "repo" cannot be used: "${rig.workspace}" does not`));
});

test("workdir is inside the workspace, and a template", async (rig) => {
  await Deno.mkdir(`${rig.workspace}/sub/hello`, { recursive: true });
  const task = await runOne(rig, '{steps: [{id: a, run: pwd, workdir: "sub/{{ payload.text }}"}]}');
  equal(task.state, "succeeded", task.reason);
  match((await rig.printed(task.id)).out, /\/repo\/sub\/hello\n$/);
});

test("a workdir that is a file fails the step", async (rig) => {
  await Deno.writeTextFile(`${rig.workspace}/file`, "");
  const task = await runOne(rig, "{steps: [{id: a, run: pwd, workdir: file}]}");
  match(task.reason, /(no|not a) directory$/);
});

test("a process that a step leaves in the background ends with it", async (rig) => {
  const task = await runOne(rig, "{steps: [{id: a, run: sleep 60 & echo $! > pid}]}");
  equal(task.state, "succeeded");
  equal(await processRuns(Number(await untilFile(`${rig.workspace}/pid`))), false);
});

test("steps run under the mask the daemon was started with", async (rig) => {
  await runOne(rig, "{steps: [{id: a, run: touch file}]}");
  equal(((await Deno.stat(`${rig.workspace}/file`)).mode ?? 0) & 0o777, 0o644);
});

test("logs are for their owner alone, and written as the output comes", async (rig) => {
  const id = await rig.queue(
    1,
    `{steps: [{id: a, run: 'echo early; until [ -e go ]; do sleep 0.02; done'}]}`,
  );
  (await rig.start()).kick();
  await until("the first line", async () => (await rig.printed(id)).out === "early\n" || undefined);
  equal((await rig.store.findTasks(id))[0]?.state, "running");
  const path = logPath(rig.dirs.logs, id);
  equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
  await Deno.writeTextFile(`${rig.workspace}/go`, "");
  equal((await rig.ended(id)).state, "succeeded");
});

test("never more tasks at once than there are workers, oldest first, and each once", async (rig) => {
  // The first four wait for each other.
  const meet = 'until [ "$(grep -c + log)" -ge 4 ]; do sleep 0.02; done';
  const run = `echo + $SVC_TASK_ID >> log; ${meet}; echo - $SVC_TASK_ID >> log`;
  const ids = [];
  for (let n = 0; n < 14; n++) ids.push(await rig.queue(n, `{steps: [{id: a, run: '${run}'}]}`));
  const worker = await rig.start(4);
  for (let n = 0; n < 20; n++) worker.kick();
  const tasks = await Promise.all(ids.map((id) => rig.ended(id)));
  deepEqual(new Set(tasks.map(({ state }) => state)), new Set(["succeeded"]));
  const lines = (await Deno.readTextFile(`${rig.workspace}/log`)).trim().split("\n");
  let [now, most] = [0, 0];
  for (const line of lines) most = Math.max(most, now += line.startsWith("+") ? 1 : -1);
  equal(most, 4);
  const begun = lines.filter((line) => line.startsWith("+")).map((line) => line.slice(2));
  deepEqual(begun.toSorted(), ids);
  deepEqual(begun.slice(0, 4).toSorted(), ids.slice(0, 4));
  const startedAt = tasks.map((task) => task.startedAt ?? 0);
  deepEqual(startedAt, startedAt.toSorted());
});

test("a task that is queued while others run is taken up when there is room", async (rig) => {
  const worker = await rig.start(1);
  const first = await rig.queue(
    1,
    `{steps: [{id: a, run: 'until [ -e go ]; do sleep 0.02; done'}]}`,
  );
  worker.kick();
  await until("its start", async () => (await rig.store.counts()).running === 1 || undefined);
  const second = await rig.queue(2, '{steps: [{id: a, run: "true"}]}');
  worker.kick();
  deepEqual(await countsOf(rig.store), { pending: 1, running: 1 });
  await Deno.writeTextFile(`${rig.workspace}/go`, "");
  await Promise.all([rig.ended(first), rig.ended(second)]);
});

test("an orderly end stops running tasks and puts them back, without counting a restart", async (rig) => {
  const workflow = `{steps: [{id: a, run: echo a >> log},
    {id: b, run: 'echo $$ > pid; echo b >> log; [ -e go ] || exec sleep 60'}, {id: c, run: echo c >> log}]}`;
  const id = await rig.queue(1, workflow);
  const waiting = await rig.queue(2, '{steps: [{id: a, run: "true"}]}');
  const worker = await rig.start(1);
  worker.kick();
  const pid = Number(await untilFile(`${rig.workspace}/pid`));
  await within(8000, worker[Symbol.asyncDispose]());
  equal(await processRuns(pid), false);
  worker.kick(); // too late
  deepEqual(await countsOf(rig.store), { pending: 2, running: 0 });
  const [stopped] = await rig.store.findTasks(id);
  deepEqual([stopped?.state, stopped?.restarts, stopped?.finishedAt], ["pending", 0, undefined]);
  equal(stopped?.steps[0]?.state, "succeeded");
  await Deno.writeTextFile(`${rig.workspace}/go`, "");
  await rig.start(1);
  const task = await rig.ended(id);
  deepEqual([task.state, task.restarts], ["succeeded", 0]);
  equal(await Deno.readTextFile(`${rig.workspace}/log`), "a\nb\nb\nc\n");
  equal((await rig.ended(waiting)).state, "succeeded");
});

test("an orderly end is not held up by a step that ignores TERM", async (rig) => {
  const id = await rig.queue(
    1,
    `{steps: [{id: a, run: 'trap "" TERM; echo $$ > pid; while :; do sleep 0.05; done'}]}`,
  );
  const worker = await rig.start();
  worker.kick();
  const pid = Number(await untilFile(`${rig.workspace}/pid`));
  await within(13_000, worker[Symbol.asyncDispose]());
  equal(await processRuns(pid), false);
  equal((await rig.store.findTasks(id))[0]?.state, "pending");
}, { skip: NOT_SLOW });

/** Leaves a task as a crash would: running, its first step done, its second under way. */
async function crashed(rig: Rig, n: number): Promise<string> {
  const id = await rig.queue(
    n,
    `{steps: [{id: a, run: echo a >> log}, {id: b, run: echo b >> log}]}`,
  );
  await claimAndCrash(rig);
  const base = { reason: "", startedAt: 1 };
  await rig.store.saveStep(id, {
    ...base,
    position: 0,
    id: "a",
    state: "succeeded",
    exitCode: 0,
    finishedAt: 2,
  });
  await rig.store.saveStep(id, {
    ...base,
    position: 1,
    id: "b",
    state: "running",
    processGroup: 2 ** 22 - 1,
  });
  return id;
}

test("after a crash a task goes on with the step that was interrupted", async (rig) => {
  const id = await crashed(rig, 1);
  await rig.start();
  const task = await rig.ended(id);
  deepEqual([task.state, task.restarts], ["succeeded", 1]);
  equal(await Deno.readTextFile(`${rig.workspace}/log`), "b\n");
  deepEqual(steps(task), [["a", "succeeded", 0], ["b", "succeeded", 0]]);
});

test("a task may be interrupted by three crashes, and is given up with the fourth", async (rig) => {
  const fourth = await crashed(rig, 1);
  await takeOverAndCrash(rig);
  const third = await crashed(rig, 2);
  await takeOverAndCrash(rig);
  await takeOverAndCrash(rig);
  await rig.start();
  const [alive, dead] = [await rig.ended(third), await rig.ended(fourth)];
  deepEqual([alive.state, alive.restarts], ["succeeded", 3]);
  deepEqual([dead.state, dead.reason], ["failed", "interrupted"]);
  equal(await Deno.readTextFile(`${rig.workspace}/log`), "b\n", "of the third only");
});

test("after a crash, the processes of the old run are ended before its step runs again", async (rig) => {
  const id = await crashed(rig, 1);
  const left = new Deno.Command("/bin/sh", {
    args: ["-c", 'trap "" TERM; setsid sleep 60 & echo $! > pid; exec sleep 60'],
    cwd: rig.workspace,
    env: { SVC_TASK_ID: id },
    detached: true,
  }).spawn();
  const other = new Deno.Command("sleep", { args: ["60"], env: { SVC_TASK_ID: taskIdOf(9) } })
    .spawn();
  const grandchild = Number(await untilFile(`${rig.workspace}/pid`));
  await rig.start();
  equal((await left.status).signal, "SIGKILL");
  equal(await processRuns(grandchild), false);
  equal(await processRuns(other.pid), true, "it belongs to another task");
  other.kill();
  await other.status;
  equal((await rig.ended(id)).state, "succeeded");
});

const busy = () => Promise.reject(new AppError("overloaded", "The database cannot be written now"));

/** Fails the first calls of a method, then lets them through. */
function busyFor<Name extends "claimTasks" | "saveStep" | "finishTask">(
  rig: Rig,
  name: Name,
  calls: number,
): Partial<Store> {
  let left = calls;
  const real = rig.store[name] as (...args: unknown[]) => Promise<unknown>;
  return { [name]: (...args: unknown[]) => left-- > 0 ? busy() : real(...args) } as Partial<Store>;
}

test("a store that is busy when tasks are to be taken up is asked again", async (rig) => {
  const id = await rig.queue(1, '{steps: [{id: a, run: "true"}]}');
  await rig.start(2, busyFor(rig, "claimTasks", 1));
  equal((await rig.ended(id)).state, "succeeded");
});

// The first saveStep only says that the step runs, and may be lost; of a quick step there is none.
for (const [name, calls] of [["saveStep", 2], ["finishTask", 1]] as const) {
  test(`a store that is busy once for ${name} does not make a failure of a success`, async (rig) => {
    const id = await rig.queue(1, "{steps: [{id: a, run: sleep 0.2; echo a >> log}]}");
    await rig.start(2, busyFor(rig, name, calls));
    const task = await rig.ended(id);
    deepEqual([task.state, task.reason], ["succeeded", ""]);
    equal(await Deno.readTextFile(`${rig.workspace}/log`), "a\n", "run once");
  });
}

test("a bug in one task is logged, ends that task, and no other", async (rig) => {
  const worker = await rig.start();
  const bad = await rig.queue(1, '{steps: [{id: a, run: "true"}]}');
  const good = await rig.queue(2, '{steps: [{id: a, run: "true"}]}');
  await Deno.writeTextFile(`${rig.dirs.run}/${bad}`, "a file where its directory should be");
  worker.kick();
  const task = await rig.ended(bad);
  deepEqual([task.state, task.reason], ["failed", "internal error, see the daemon's log"]);
  match(rig.logged.join("\n"), /"level":"error".*task failed inside svc/);
  equal((await rig.ended(good)).state, "succeeded");
});

test("a bug in a task keeps no turn of an agent from others", async (rig) => {
  const worker = await rig.start();
  const bad = await rig.queue(1, '{steps: [{id: a, run: "true", env: {agent: a}}]}');
  const later = { debounce: { key: "", forMs: 1e12 } };
  const other = await rig.queue(2, '{steps: [{id: a, run: "true"}]}', undefined, later);
  await Deno.writeTextFile(`${rig.dirs.run}/${bad}`, "a file where its directory should be");
  const asked = { position: 0, project: "default", agents: [{ name: "a", seats: 1 }], now: 1 };
  await rig.store.takeTurn({ ...asked, taskId: bad });
  equal((await rig.store.takeTurn({ ...asked, taskId: other })).is, "waiting");
  worker.kick();
  equal((await rig.ended(bad)).state, "failed");
  deepEqual(await rig.store.listAgentUse("default", 1), [{ agent: "a", held: 1, waiting: 0 }]);
});

test("a task whose step under finally waits for a turn leaves its worker to the one that gets it", async (rig) => {
  const put = manifestResources(`
kind: Agent
metadata: {name: a}
spec: {command: "true", maxParallel: 1, timeout: 1h}
`);
  rig.catalog.change(put.map((resource) => ({ op: "put", resource })));
  const later = { debounce: { key: "", forMs: 1e12 } };
  const holder = await rig.queue(1, '{steps: [{id: a, run: "true"}]}', undefined, later);
  const agents = [{ name: "a", seats: 1 }];
  const asked = { taskId: holder, position: 0, project: "default", agents, now: Date.now() };
  equal((await rig.store.takeTurn(asked)).is, "held");
  const worker = await rig.start(1);
  const waits = (n: number) =>
    until("it waits", async () => {
      const [use] = await rig.store.listAgentUse("default", Date.now());
      return use?.waiting === n || undefined;
    });
  const first = await rig.queue(2, "{steps: [{id: a, agent: a, prompt: p}]}");
  worker.kick();
  await waits(1);
  const ends = '{steps: [{id: a, run: "true"}], finally: [{id: z, agent: a, prompt: p}]}';
  const second = await rig.queue(3, ends);
  worker.kick();
  await waits(2);
  await rig.store.endTurn(holder, 5);
  worker.kick();
  equal((await rig.ended(first)).state, "succeeded");
  equal((await rig.ended(second)).state, "succeeded");
});

test("a payload nested too deeply for a template fails its step, and the worker goes on", async (rig) => {
  const deep = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
  const env = '{A: "{{ payload.a.exists(x, x == 1) }}"}';
  const bad = await rig.queue(1, `{steps: [{id: a, env: ${env}, run: "true"}]}`, deep);
  const good = await rig.queue(2, '{steps: [{id: a, run: "true"}]}');
  await rig.start();
  const task = await rig.ended(bad);
  equal(task.state, "failed");
  match(task.reason, /^step "a": .*has no value/);
  equal((await rig.ended(good)).state, "succeeded");
});
