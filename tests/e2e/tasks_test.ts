/**
 * What a person does with tasks, from outside: cancel, retry, wait, inbox, workspace,
 * logs, watching, and how long they are kept.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, match, ok, strictEqual as equal } from "node:assert/strict";
import { startDaemon, type TaskRecord, type TestDaemon } from "../helpers/daemon.ts";
import { type Manifest, trigger } from "../helpers/manifests.ts";
import {
  cleanEnv,
  NO_DATABASE,
  ONE_PROGRAM,
  type Program,
  programTest,
  slowTest,
} from "../helpers/program.ts";
import { logsIn } from "../helpers/stored_texts.ts";
import { until, untilFile } from "../helpers/until.ts";

const OPEN = { allowUnsigned: true };
const WAITING = "until [ -e go ]; do sleep 0.05; done";

/** A Workflow `record` of these steps. */
function record(steps: readonly Record<string, unknown>[], last: unknown = []): Manifest {
  return { kind: "Workflow", metadata: { name: "record" }, spec: { steps, finally: last } };
}

/** Fires the trigger `now`; gives the task. */
async function fire(daemon: TestDaemon): Promise<string> {
  const { status, json } = await daemon.send("/webhook/now", { body: "{}" });
  equal(status, 200);
  return String(json["task_id"]);
}

/** A task of these steps. */
async function start(daemon: TestDaemon, ...steps: Record<string, unknown>[]): Promise<string> {
  await daemon.apply(record(steps), trigger("now", { webhook: OPEN }));
  return await fire(daemon);
}

const taskOf = async (daemon: TestDaemon, id: string) =>
  await daemon.json("get", "task", id) as TaskRecord & Record<string, unknown>;

slowTest(
  "svc task cancel: several at once, waits for their end, says what has ended",
  async (program) => {
    await using daemon = await startDaemon(program, { args: ["--workers", "1"] });
    const running = await start(daemon, {
      id: "one",
      run: `echo $$ > pid; trap 'exit 3' TERM; ${WAITING}`,
    });
    await untilFile(`${daemon.workspace}/pid`);
    const waiting = await fire(daemon);
    const done = await daemon.svc(["task", "cancel", running, waiting, "--reason", "wrong branch"]);
    deepEqual([done.code, done.stderr], [0, ""]);
    deepEqual(done.stdout.split("\n").toSorted(), [
      "",
      ...[`task/${running} cancelled`, `task/${waiting} cancelled`].toSorted(),
    ]);
    const { state, reason, steps } = await taskOf(daemon, running);
    deepEqual([state, reason], ["cancelled", "cancelled by an operator: wrong branch"]);
    deepEqual(steps.map(({ state, exit_code }) => [state, exit_code]), [["cancelled", 3]]);

    const again = await daemon.svc(["task", "cancel", running]);
    deepEqual(again, {
      code: 1,
      stdout: "",
      stderr: `task/${running} has already ended: cancelled\n`,
    });
    equal((await daemon.svc(["task", "cancel", "01ZZZZ"])).code, 4);
    equal((await daemon.svc(["task", "cancel"])).code, 2);

    const third = await fire(daemon);
    await until(
      "it to run",
      async () => (await taskOf(daemon, third)).state === "running" ? true : undefined,
    );
    const quick = await daemon.svc(["task", "cancel", third, "--no-wait"]);
    deepEqual([quick.code, quick.stdout], [0, `task/${third} is being cancelled\n`]);
    const json = await daemon.svc(["task", "cancel", third, running, "-o", "json"]);
    equal(json.code, 1);
    deepEqual(
      (JSON.parse(json.stdout) as { id: string }[]).map(({ id }) => id),
      [third, running],
    );
  },
);

programTest(
  "svc task wait and retry: exit codes, and nothing but the id for scripts",
  async (program) => {
    await using daemon = await startDaemon(program);
    const id = await start(
      daemon,
      { id: "one", run: "echo one >> ran" },
      { id: "two", run: `${WAITING}; exit 7` },
    );
    const late = await daemon.svc(["task", "wait", id, "--timeout", "1s"]);
    deepEqual(late, { code: 1, stdout: "", stderr: `Timed out after 1s: task/${id} running\n` });
    const early = await daemon.svc(["task", "retry", id]);
    equal(early.code, 1);
    match(early.stderr, /^error: Task \w+ is running: wait for its end, or cancel it/);
    await Deno.writeTextFile(`${daemon.workspace}/go`, "");
    const failed = await daemon.svc(["task", "wait", id.toLowerCase()]);
    deepEqual(failed, {
      code: 1,
      stdout: `task/${id} failed: step "two": exit code 7\n`,
      stderr: "",
    });
    equal((await daemon.svc(["task", "wait", "01ZZZZ"])).code, 4);

    await daemon.apply(record([{ id: "one", run: "echo one >> ran" }, { id: "two", run: "true" }]));
    const retried = await daemon.svc(["task", "retry", id]);
    deepEqual([retried.code, retried.stderr], [0, ""]);
    match(retried.stdout, /^[0-9A-Z]{26}\n$/);
    const next = retried.stdout.trim();
    const fails = await daemon.svc(["task", "wait", next, id]);
    equal(fails.code, 1, "it copied its workflow, which still fails");
    deepEqual(fails.stdout.split("\n").length, 3);
    const { retry_of: of, steps } = await taskOf(daemon, next);
    deepEqual([of, steps.map(({ state }) => state)], [id, ["succeeded", "failed"]]);
    equal(await Deno.readTextFile(`${daemon.workspace}/ran`), "one\n");

    const fresh = await fire(daemon);
    deepEqual(await daemon.svc(["task", "wait", fresh]), {
      code: 0,
      stdout: `task/${fresh} succeeded\n`,
      stderr: "",
    });
    const from = await daemon.svc(["task", "retry", fresh, "--from", "nope"]);
    equal(from.code, 2);
    match(from.stderr, /has no step "nope": its steps are one, two\n$/);
    const json = JSON.parse((await daemon.svc(["task", "wait", fresh, id, "-o", "json"])).stdout);
    deepEqual(json.map((one: TaskRecord) => one.state).toSorted(), ["failed", "succeeded"]);
    const whole = await daemon.svc(["task", "retry", fresh]);
    match(whole.stdout, /^[0-9A-Z]{26}\n$/);
    match(whole.stderr, /succeeded, so all of its steps run again\n$/);
  },
);

slowTest(
  "svc task inbox and workspace, by people and by the step itself",
  async (program) => {
    await using daemon = await startDaemon(program);
    const line = 'until grep -q "go on" "$SVC_INBOX"; do sleep 0.05; done; ' +
      'svc task inbox "$SVC_TASK_ID" > seen; svc task workspace "$SVC_TASK_ID" > where';
    const id = await start(daemon, { id: "one", run: line });
    deepEqual(await daemon.svc(["task", "inbox", id]), { code: 0, stdout: "", stderr: "" });
    const sent = await daemon.svc(["task", "inbox", id, "--send", "look at the tests"]);
    deepEqual(sent, { code: 0, stdout: `sent to task/${id}\n`, stderr: "" });
    const piped = await daemon.svc(["task", "inbox", id, "--send", "-"], {
      stdin: "go on\n\x1b[2J",
    });
    equal(piped.code, 0, piped.stderr);
    equal((await daemon.svc(["task", "wait", id])).code, 0);
    const lines = (await Deno.readTextFile(`${daemon.workspace}/seen`)).trim().split("\n");
    deepEqual(lines.map((text) => JSON.parse(text)["text"]), [
      "look at the tests",
      "go on\n\x1b[2J",
    ]);
    equal(await Deno.readTextFile(`${daemon.workspace}/where`), `${daemon.workspace}\n`);
    const list = JSON.parse((await daemon.svc(["task", "inbox", id, "-o", "json"])).stdout);
    deepEqual(list.map((one: { from: string }) => one.from), ["operator", "operator"]);
    const table = await daemon.svc(["task", "inbox", id, "-o", "table"]);
    match(table.stdout, /^AT +FROM +TEXT\n/);
    equal(table.stdout.includes("\x1b"), false);
    equal((await daemon.svc(["task", "inbox", id, "--send", "late"])).code, 1);
    equal((await daemon.svc(["task", "inbox", id, "--send", " "])).code, 2);
    equal(
      (await daemon.svc(["task", "inbox", id, "--send", "-"], { stdin: Uint8Array.of(255) })).code,
      2,
    );
  },
);

/** `svc` in the background, and all it prints. */
function spawn(program: Program, daemon: TestDaemon, ...args: readonly string[]) {
  const child = new Deno.Command(program.command, {
    args: [...program.args, ...args],
    clearEnv: true,
    env: cleanEnv({ SVC_DATA_DIR: daemon.dataDir }),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const text = { out: "", err: "" };
  const read = async (name: "out" | "err", stream: ReadableStream<Uint8Array>) => {
    for await (const part of stream) text[name] += new TextDecoder().decode(part);
  };
  const over = Promise.all([read("out", child.stdout), read("err", child.stderr)]);
  return {
    text,
    kill: (signal: Deno.Signal) => child.kill(signal),
    async code() {
      await over;
      return (await child.status).code;
    },
  };
}

slowTest(
  "Ctrl-C ends what lasts with exit code 130, and touches nothing else",
  async (program) => {
    await using daemon = await startDaemon(program);
    const id = await start(daemon, { id: "one", run: `echo begun; echo $$ > pid; ${WAITING}` });
    await untilFile(`${daemon.workspace}/pid`);
    const lasting = [
      spawn(program, daemon, "task", "logs", id, "-f", "--prefix"),
      spawn(program, daemon, "get", "task", "-w"),
    ];
    const silent = spawn(program, daemon, "task", "wait", id);
    for (const one of lasting) await until("output", () => one.text.out === "" ? undefined : true);
    await new Promise((resolve) => setTimeout(resolve, 500)); // `wait` says nothing when it is ready
    for (const one of [...lasting, silent]) one.kill("SIGINT");
    for (const one of [...lasting, silent]) deepEqual([await one.code(), one.text.err], [130, ""]);
    equal(lasting[0]?.text.out, "[one] begun\n");
    equal((await taskOf(daemon, id)).state, "running");
    await Deno.writeTextFile(`${daemon.workspace}/go`, "");
    equal((await daemon.svc(["task", "wait", id])).code, 0);
  },
  { fileOnly: NO_DATABASE },
);

slowTest(
  "what follows a task ends with exit code 3 when the daemon does",
  async (program) => {
    await using daemon = await startDaemon(program);
    const id = await start(daemon, { id: "one", run: `echo begun; echo $$ > pid; ${WAITING}` });
    await untilFile(`${daemon.workspace}/pid`);
    const lasting = [
      spawn(program, daemon, "task", "logs", id, "-f"),
      spawn(program, daemon, "get", "task", "-w", "-o", "json"),
    ];
    for (const one of lasting) await until("output", () => one.text.out === "" ? undefined : true);
    await daemon.stop();
    for (const one of lasting) {
      equal(await one.code(), 3, one.text.err);
      match(one.text.err, /^error: (The daemon is stopping|The connection to the daemon broke)/);
    }
  },
  { fileOnly: NO_DATABASE },
);

/** Waits until this is in the log of the task. */
const logged = (text: string) =>
  `until svc task logs "$SVC_TASK_ID" | grep -q ${text}; do sleep 0.05; done`;

slowTest(
  "svc task logs: prefixes and times line by line, from steps side by side",
  async (program) => {
    await using daemon = await startDaemon(program);
    const id = await start(
      daemon,
      {
        id: "a", // What could begin a secret would be kept back until more comes.
        run: `printf 'be: '; ${logged("between")}; echo gun; printf end`,
        needs: [],
      },
      { id: "b", run: `${logged("be")}; echo in between`, needs: [] },
    );
    await daemon.settled();
    const logs = async (...args: string[]) =>
      (await daemon.svc(["task", "logs", id, ...args])).stdout;
    equal(await logs(), "be: in between\ngun\nend");
    equal(await logs("--prefix"), "[b] in between\n[a] be: gun\n[a] end\n");
    equal(await logs("--tail", "1"), "end");
    equal(await logs("--tail", "2", "--prefix"), "[b] in between\n[a] end\n");
    equal(await logs("--grep", "BE"), "be: gun\nin between\n");
    equal(await logs("--grep", "be", "--tail", "1", "--prefix"), "[b] in between\n");
    equal(await logs("--grep", "nothing like it"), "");
    const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (.*)$/;
    const timed = (await logs("--timestamps")).trimEnd().split("\n");
    deepEqual(timed.map((line) => time.exec(line)?.[1]), ["in between", "be: gun", "end"]);
    equal(await logs("--since", "1h", "--step", "b"), "in between\n");
    equal((await daemon.svc(["task", "logs", id, "--step", "c"])).code, 2);
    equal((await daemon.svc(["task", "logs", id, "--tail", "x"])).code, 2);
    equal((await daemon.svc(["task", "logs", id, "--grep", ""])).code, 2);
  },
);

programTest(
  "svc task logs: what an agent says in lines, and its events with --raw",
  async (program) => {
    await using daemon = await startDaemon(program);
    const events = [
      { type: "thread.started", thread_id: "t-1" },
      { type: "item.completed", item: { type: "agent_message", text: "One\ntwo" } },
      { type: "turn.failed", error: { message: "You've hit your usage limit." } },
    ];
    const raw = events.map((event) => `${JSON.stringify(event)}\n`).join("");
    await Deno.writeTextFile(`${daemon.workspace}/events`, raw);
    await daemon.apply({
      kind: "Agent",
      metadata: { name: "coder" },
      spec: { command: "cat events; exit 1", output: "codex", timeout: "1m" },
    });
    const id = await start(
      daemon,
      { id: "ready", run: "echo ready" },
      { id: "code", agent: "coder", prompt: "p" },
    );
    await daemon.settled();
    const logs = async (...args: string[]) =>
      (await daemon.svc(["task", "logs", id, ...args])).stdout;
    equal(await logs(), "ready\nOne\ntwo\n");
    equal(await logs("--tail", "3"), "One\ntwo\n"); // a note of svc is a line too
    equal(await logs("--raw"), raw);
    equal(await logs("--raw", "--step", "ready"), "");
    match((await daemon.svc(["task", "logs", id, "--raw", "--step", "ready"])).stderr, /nothing/);
    equal(await logs("--raw", "--tail", "1"), `${JSON.stringify(events.at(-1))}\n`);
    equal(await logs("--grep", "thread"), "");
    equal(await logs("--raw", "--grep", "thread"), `${JSON.stringify(events[0])}\n`);
    const streams = async (...args: string[]) =>
      (await logs("-o", "json", ...args)).trimEnd().split("\n").flatMap((line) =>
        JSON.parse(line)["stream"] ?? []
      );
    deepEqual(new Set(await streams()), new Set(["out", "svc"]));
    deepEqual(new Set(await streams("--raw")), new Set(["raw"]));
    const { steps: [, step] } = await taskOf(daemon, id);
    const { failure, reason, outputs } = step as unknown as Record<string, unknown>;
    deepEqual([failure, reason, outputs], [
      "limit",
      "the agent reached its limit: You've hit your usage limit.",
      { agent: "coder", result: "One\ntwo", session_id: "t-1" },
    ]);
  },
);

programTest(
  "svc get task -w: rows as tasks change, one object a line with -o json",
  async (program) => {
    await using daemon = await startDaemon(program);
    await daemon.apply(record([{ id: "one", run: WAITING }]), trigger("now", { webhook: OPEN }));
    const table = spawn(program, daemon, "get", "task", "-w");
    const json = spawn(program, daemon, "get", "task", "-w", "-o", "json", "--state", "succeeded");
    const id = await fire(daemon);
    await until("its row", () => table.text.out.includes(`${id}  now`) ? true : undefined);
    await Deno.writeTextFile(`${daemon.workspace}/go`, "");
    await until("its end", () => table.text.out.includes("succeeded") ? true : undefined);
    const line = await until("the object", () => /^(.*)\n/.exec(json.text.out)?.[1]);
    deepEqual([JSON.parse(line)["id"], JSON.parse(line)["state"]], [id, "succeeded"]);
    for (const one of [table, json]) one.kill("SIGINT");
    await Promise.all([table.code(), json.code()]);
    const rows = table.text.out.trim().split("\n");
    equal(rows[0]?.startsWith("ID "), true);
    equal(rows.filter((row) => row.startsWith("ID ")).length, 1);
    ok(rows.slice(1).every((row) => row.startsWith(id)), table.text.out);
  },
);

slowTest(
  "svc daemon --keep-tasks: older tasks of a trigger go soon after the start, with their logs",
  async () => {
    await using daemon = await startDaemon(ONE_PROGRAM, { args: ["--keep-tasks", "2"] });
    await start(daemon, { id: "one", run: "echo x" });
    for (let n = 0; n < 3; n++) await fire(daemon);
    const before = (await daemon.settled()).map(({ id }) => id);
    equal(before.length, 4);
    const left = await until("the removal", async () => {
      const tasks = await daemon.tasks();
      return tasks.length === 2 ? tasks.map(({ id }) => id) : undefined;
    });
    deepEqual(left, before.slice(0, 2));
    const logs = async () => (await logsIn(daemon.dataDir)).length;
    await until("the removal of the logs", async () => await logs() === 2 ? true : undefined);
    equal((await daemon.svc(["task", "logs", before[3] ?? ""])).code, 4);
  },
);

slowTest(
  "svc daemon refuses numbers of tasks and times to keep that are none",
  async (program) => {
    await using daemon = await startDaemon(program);
    for (const flag of ["--keep-tasks", "--keep-tasks-for", "--keep-bodies-for"]) {
      for (const value of ["0", "-1", "x", "1.5", ""]) {
        equal((await daemon.svc(["daemon", `${flag}=${value}`])).code, 2, `${flag}=${value}`);
      }
    }
  },
  { fileOnly: NO_DATABASE },
);
