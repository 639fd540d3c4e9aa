/**
 * Calls from real shells to a daemon's end that is served in this process, with a control plane that
 * is made up: what callers do wrong, and what becomes of them when the daemon ends.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Grant, RunTokens } from "../../src/auth/run_tokens.ts";
import { systemClock } from "../../src/base/clock.ts";
import { type DataDir, dataDirAt } from "../../src/base/data_dir.ts";
import { createLog } from "../../src/base/log.ts";
import { openCalls } from "../../src/calls/calls.ts";
import { launcherScript } from "../../src/calls/launcher_script.ts";
import { attemptWith } from "../../src/cli/attempt.ts";
import { PROGRAM as SVC } from "../../src/cli/run.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { run, type RunResult } from "../helpers/program.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until, untilFile } from "../helpers/until.ts";

const PATH = Deno.env.get("PATH") ?? "";
/** What the program would say, were it run. */
const PROGRAM = { code: 99, stdout: "", stderr: "" };
const RUN: Grant = { kind: "cron", project: "default" };

interface Rig extends AsyncDisposable {
  readonly dirs: DataDir;
  readonly env: Record<string, string>;
  /** Operations the made-up control plane was asked for, with their inputs. */
  readonly asked: string[];
  readonly launcher: string;
  svc(args: readonly string[], stdin?: string | Uint8Array): Promise<RunResult>;
  /** Ends the daemon's side. */
  close(): Promise<void>;
}

interface RigOptions {
  /** Shell words that stand for the program. */
  readonly program?: string;
  readonly path?: string;
  readonly clock?: ManualClock;
  readonly answer?: (request: Request) => Promise<Response>;
}

async function openRig(
  { program = "exit 99 #", path = PATH, clock, answer }: RigOptions = {},
): Promise<Rig> {
  await using opening = new AsyncDisposableStack();
  const temp = opening.use(await tempDir());
  const dirs = dataDirAt(temp.path);
  await Deno.mkdir(dirs.controlPlane);
  const tokens = new RunTokens();
  const { token } = tokens.issue(RUN);
  const asked: string[] = [];
  const log = createLog({ level: "warn", format: "pretty", clock: systemClock, write: unexpected });
  const calls = await openCalls({
    descriptors: 20_000,
    dirs,
    tokens,
    log,
    path,
    clock: clock ?? systemClock,
    attempt: attemptWith(SVC),
    async answer(request) {
      equal(request.headers.get("authorization"), `Bearer ${token}`);
      asked.push(`${new URL(request.url).pathname} ${await request.clone().text()}`);
      return await answer?.(request) ??
        Response.json({ store: "chat", key: "key", created: false });
    },
  });
  const launcher = await temp.write(
    "svc",
    launcherScript({ program, root: dirs.root, calls: dirs.calls }),
  );
  const env = { SVC_RUN_TOKEN: token, SVC_DATA_DIR: dirs.root, SVC_PROJECT: "default" };
  let closed: Promise<void> | undefined;
  const close = () => closed ??= Promise.resolve(calls[Symbol.asyncDispose]());
  const open = opening.move();
  return {
    dirs,
    env,
    asked,
    launcher,
    close,
    svc: (args, stdin = "") => run("/bin/sh", [launcher, ...args], { env, stdin }),
    async [Symbol.asyncDispose]() {
      await close();
      await open.disposeAsync();
    },
  };
}

function unexpected(line: string): void {
  throw new Error(`The log has a warning: ${line}`);
}

const EXTRACT = ["tool", "payload-extract", "--path", "a"];
const ONE = { code: 0, stdout: "1\n", stderr: "" };

/** A caller that is broken off by the test. */
function start(rig: Rig, script: string, args: readonly string[] = []): Deno.ChildProcess {
  return new Deno.Command("/bin/sh", {
    args: ["-c", script, rig.launcher, ...args],
    env: rig.env,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
}

async function kill(child: Deno.ChildProcess): Promise<void> {
  try {
    child.kill("SIGKILL");
  } catch {
    // It was sent to the program, and has ended.
  }
  await child.status;
  await child.stdin.close().catch(() => {});
  await child.stdout.cancel();
}

/** Pipes for calls, taken ones too. */
function pipes(rig: Rig): string[] {
  return names(rig, ".out");
}

const names = (rig: Rig, end: string) =>
  [...Deno.readDirSync(rig.dirs.calls)].map(({ name }) => name).filter((name) =>
    name.endsWith(end)
  );

const taken = (rig: Rig) => names(rig, ".taken").length;

Deno.test("calls side by side each get their own answer", async () => {
  await using rig = await openRig();
  const results = await Promise.all(
    Array.from({ length: 24 }, (_, a) => rig.svc(EXTRACT, JSON.stringify({ a }))),
  );
  deepEqual(results, results.map((_, a) => ({ ...ONE, stdout: `${a}\n` })));
  await until("the end of every call", () => taken(rig) === 0 ? true : undefined);
});

Deno.test("calls that follow each other closely find no pipe that is over", async () => {
  await using rig = await openRig();
  const script = "for a in 1 2 3 4 5; do (for b in 1 2 3 4 5 6 7 8 9 10; do " +
    'echo "{\\"a\\":1}" | /bin/sh "$0" "$@" || echo "$? of $a $b"; done) & done; wait';
  const { stdout } = await run("/bin/sh", ["-c", script, rig.launcher, ...EXTRACT], {
    env: rig.env,
  });
  equal(stdout, "1\n".repeat(50)); // fewer than there are pipes from the beginning
});

Deno.test("however many call at once, each gets an answer or the program", async () => {
  await using rig = await openRig();
  const script = 'i=0; while [ $i -lt 150 ]; do echo "{\\"a\\":1}" | /bin/sh "$0" "$@" & ' +
    "i=$((i+1)); done; wait";
  const { stdout } = await run("/bin/sh", ["-c", script, rig.launcher, ...EXTRACT], {
    env: rig.env,
  });
  ok(stdout.split("\n").length > 20, stdout);
  equal(stdout.replaceAll("1\n", ""), "");
  await until("new pipes", () => pipes(rig).length > 48 ? true : undefined);
  deepEqual(await rig.svc(EXTRACT, '{"a":1}'), ONE);
});

Deno.test("noise at the bell is no call and stops none", async () => {
  await using rig = await openRig();
  using bell = await Deno.open(join(rig.dirs.calls, "bell"), { write: true });
  for (let round = 0; round < 20; round++) {
    await bell.write(crypto.getRandomValues(new Uint8Array(4000)));
    await bell.write(new TextEncoder().encode("\nno-such-name\n../../svc\n\0\n\n"));
  }
  deepEqual(await rig.svc(EXTRACT, '{"a":1}'), ONE);
  const [pipe = ""] = pipes(rig);
  const name = pipe.replace(".out", "");
  await bell.write(new TextEncoder().encode(`${name}\n`)); // and nobody is there
  await until("the pipe is gone", () => pipes(rig).includes(pipe) ? undefined : true);
  deepEqual(await rig.svc(EXTRACT, '{"a":1}'), ONE);
});

Deno.test("callers that are killed at any point leave nothing behind", async () => {
  const clock = new ManualClock(Date.now());
  await using rig = await openRig({ clock });
  const waitsForInput = start(rig, 'exec /bin/sh "$0" "$@"', EXTRACT);
  await until("the wait for its input", () => names(rig, ".input")[0]);
  await kill(waitsForInput);
  await clock.advance(60_000);
  await until("the end of the call", () => taken(rig) === 0 ? true : undefined);
  const opened = `cd ${rig.dirs.calls}
    for out in *.out; do name=\${out%.out}; break; done
    : > $name.taken; exec 4<>$out 5<$out 4>&- 6<>$name.taken`;
  for (
    const rest of [
      "echo $name > bell", // it says nothing
      "printf 'run-' >&6; echo $name > bell", // half
      // it asks, and is gone before it is answered
      `printf '%s\\0' "$SVC_RUN_TOKEN" default 1 version >&6; echo $name > bell`,
    ]
  ) {
    const child = start(rig, `${opened}\n${rest}\necho yes > ../rung\nread -r _`);
    await untilFile(join(rig.dirs.controlPlane, "rung"));
    await Deno.remove(join(rig.dirs.controlPlane, "rung"));
    await kill(child);
    await until("the end of the call", () => taken(rig) === 0 ? true : undefined);
  }
  deepEqual(await rig.svc(EXTRACT, '{"a":1}'), ONE);
});

/** Callers that wait for their input; their number is more than the runtime has threads for files. */
async function holdMany(rig: Rig): Promise<AsyncDisposable> {
  const held = Array.from({ length: 64 }, () => start(rig, 'exec /bin/sh "$0" "$@"', EXTRACT));
  await until("64 callers", () => taken(rig) >= 48 ? true : undefined);
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(held.map(kill));
    },
  };
}

Deno.test("callers that are held keep the daemon from no file and no other call", async () => {
  await using rig = await openRig();
  const launcher = await Deno.readTextFile(rig.launcher);
  await using _held = await holdMany(rig);
  let read: string | undefined;
  void Deno.readTextFile(rig.launcher).then((text) => read = text);
  equal(await until("what a file holds", () => read, 20_000), launcher);
  equal((await rig.svc(EXTRACT, '{"a":1}')).code, 99); // more than that start the program
  await rig.close(); // which waits for none of them
});

Deno.test("a caller that has filled its pipe is not waited for, and is sent to the program", async () => {
  await using rig = await openRig();
  const [out = ""] = pipes(rig);
  const name = out.replace(".out", "");
  const base = join(rig.dirs.calls, name);
  await Deno.writeTextFile(
    `${base}.taken`,
    `${[rig.env["SVC_RUN_TOKEN"], "default", "1", "version"].join("\0")}\0`,
  );
  const pipe = openSync(`${base}.out`, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    for (;;) writeSync(pipe, new Uint8Array(4096));
  } catch {
    // it is full
  }
  await Deno.writeTextFile(join(rig.dirs.calls, "bell"), `${name}\n`);
  await until("the end of the call", () => pipes(rig).includes(out) ? undefined : true);
  closeSync(pipe);
  deepEqual(await rig.svc(EXTRACT, '{"a":1}'), ONE);
});

Deno.test("what a caller has made of its files is not waited for", async () => {
  await using rig = await openRig();
  const secret = join(rig.dirs.root, "other");
  const request = [rig.env["SVC_RUN_TOKEN"], "default", "1", "version"].join("\0") + "\0";
  await Deno.writeTextFile(secret, request);
  for (
    const make of [
      (path: string) => run("mkfifo", [path]),
      (path: string) => Deno.symlink(secret, path),
      (path: string) => Deno.link(secret, path),
      (path: string) => Deno.mkdir(path),
    ]
  ) {
    const [out = ""] = pipes(rig);
    const name = out.replace(".out", "");
    await make(join(rig.dirs.calls, `${name}.taken`));
    await Deno.writeTextFile(join(rig.dirs.calls, "bell"), `${name}\n`);
    await until("the end of the call", () => pipes(rig).includes(out) ? undefined : true);
  }
  equal(await Deno.readTextFile(secret), request); // no answer was written into it
  deepEqual(await rig.svc(EXTRACT, '{"a":1}'), ONE);
});

Deno.test("no file that a command line names is opened for a caller", async () => {
  await using rig = await openRig();
  const fifo = join(rig.dirs.root, "fifo");
  await run("mkfifo", [fifo]);
  const args = ["get", "tasks", "--server", "https://localhost:1", "--ca-file", fifo];
  deepEqual(await rig.svc(args), PROGRAM);
});

Deno.test("the daemon ends although its bell is full, and although others listen to it", async () => {
  await using rig = await openRig();
  const bell = join(rig.dirs.calls, "bell");
  const others = [
    `sh -c 'exec 3<>${bell}; while :; do echo x >&3; done'`,
    `cat ${bell}`,
    `cat ${bell}`,
  ]
    .map((script, at) => start(rig, `echo yes >${rig.dirs.root}/other.${at}; exec ${script}`));
  await Promise.all(others.map((_, at) => untilFile(join(rig.dirs.root, `other.${at}`))));
  await rig.close();
  await Promise.all(others.map(kill));
});

Deno.test("standard input that is too long to serve reaches the program whole", async () => {
  await using rig = await openRig({ program: "exec wc -c #" });
  const input = JSON.stringify({ a: "x".repeat(2_000_000) });
  const { stdout, code } = await rig.svc(EXTRACT, input);
  deepEqual({ code, bytes: Number(stdout) }, { code: 0, bytes: input.length });
  // It comes in many small parts.
  const parts = "i=0; while [ $i -lt 300 ]; do echo 123456789; i=$((i+1)); done";
  const rotate = "tool secret-rotate chat key --value -";
  const many = await run("/bin/sh", ["-c", `${parts} | /bin/sh "$0" ${rotate}`, rig.launcher], {
    env: rig.env,
  });
  equal(Number(many.stdout), 3000);
});

Deno.test("a pipe that was taken and never used is given up", async () => {
  const clock = new ManualClock(Date.now());
  await using rig = await openRig({ clock });
  const before = pipes(rig);
  for (const out of before) {
    await Deno.writeTextFile(join(rig.dirs.calls, out.replace(".out", ".taken")), "");
  }
  deepEqual(await rig.svc(EXTRACT, '{"a":1}'), PROGRAM);
  // One that a caller took when it was over already.
  await Deno.writeTextFile(join(rig.dirs.calls, "gone-1.taken"), "");
  await clock.advance(120_000);
  await until("new pipes", () => pipes(rig).length > 0 && taken(rig) === 0 ? true : undefined);
  deepEqual(await rig.svc(EXTRACT, '{"a":1}'), ONE);
});

Deno.test("a token that no run has any more gets the program", async () => {
  await using rig = await openRig();
  rig.env["SVC_RUN_TOKEN"] = "run-x";
  deepEqual(await rig.svc(EXTRACT, '{"a":1}'), PROGRAM);
  deepEqual(rig.asked, []);
});

Deno.test("a daemon that ends leaves no caller waiting", async () => {
  const { promise: release, resolve } = Promise.withResolvers<void>();
  using _release = { [Symbol.dispose]: resolve }; // also when something fails: closing waits for it
  await using rig = await openRig({
    program: "exec cat #",
    answer: () => release.then(() => Response.json({ kind: "SecretStore" })),
  });
  const asking = rig.svc(["describe", "secretstore/x", "-o", "json"]);
  const waiting = start(rig, 'exec /bin/sh "$0" "$@"', EXTRACT);
  await until("one call", () => rig.asked.length === 1 ? true : undefined);
  await until("a caller that keeps its input", () => names(rig, ".input")[0]);
  const closed = rig.close();
  const writer = waiting.stdin.getWriter();
  await writer.write(new TextEncoder().encode("kept"));
  await writer.close();
  equal((await waiting.status).code, 0);
  equal(await new Response(waiting.stdout).text(), "kept"); // the program has it
  resolve();
  deepEqual(await asking, { ...PROGRAM, code: 0, stdout: '{\n  "kind": "SecretStore"\n}\n' });
  await closed;
  deepEqual(await rig.svc(EXTRACT, "all"), { ...PROGRAM, code: 0, stdout: "all" });
});

Deno.test("input is not lost when its file is removed just before it is written", async () => {
  await using rig = await openRig({ program: "exec cat #" });
  // The shell expands PS4 before each command that it traces: the file goes once it is open to be read.
  const removal = `{ : <&8; } 2>/dev/null && rm -f ${rig.dirs.calls}/*.input`;
  const script = `PS4='$(${removal})'; set -x; . "$0"`;
  const caller = ["-c", script, rig.launcher, ...EXTRACT];
  const { code, stdout } = await run("/bin/sh", caller, { env: rig.env, stdin: "kept" });
  deepEqual([code, stdout], [0, "kept"]);
});

Deno.test("the pipes of a daemon that was killed keep nobody waiting", async () => {
  await using rig = await openRig();
  await rig.close();
  const made = ["bell", "x-1.out", "x-2.out"];
  await Deno.mkdir(rig.dirs.calls);
  await run("mkfifo", made.map((name) => join(rig.dirs.calls, name)));
  deepEqual(await rig.svc(EXTRACT, '{"a":1}'), PROGRAM);
  deepEqual(await rig.svc(["version", "x".repeat(30_000)], ""), PROGRAM);
});

Deno.test("without mkfifo, scripts start the program without a warning", async () => {
  await using rig = await openRig({ path: "/nonexistent" });
  deepEqual(await rig.svc(EXTRACT, '{"a":1}'), PROGRAM);
});

Deno.test("a change is made once, however often the caller is asked", async () => {
  await using rig = await openRig();
  const rotate = ["tool", "secret-rotate", "chat", "key"];
  rig.env["NEW"] = "value";
  const rotated = await rig.svc([...rotate, "--value-env", "NEW"]);
  deepEqual(rotated, { code: 0, stdout: "secretstore/chat key key rotated\n", stderr: "" });
  equal(rig.asked.length, 1, rig.asked.join("\n"));
  // A caller that is killed while it writes would leave half a value.
  deepEqual(await rig.svc([...rotate, "--value", "-"], "new"), PROGRAM);
  equal(rig.asked.length, 1, rig.asked.join("\n"));
});

Deno.test("a refusal has the words of the control plane", async () => {
  const problem = { code: "forbidden", detail: "No", details: ["a", "b"] };
  await using rig = await openRig({
    answer: () =>
      Promise.resolve(
        Response.json(problem, {
          status: 403,
          headers: { "content-type": "application/problem+json" },
        }),
      ),
  });
  deepEqual(await rig.svc(["tool", "secret-rotate", "chat", "key", "--value", "x"]), {
    code: 5,
    stdout: "",
    stderr: "error: No\n  a\n  b\n",
  });
});
