/**
 * A line that has to wait for something: its shell is there already, and nothing of the line has
 * run.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { defined } from "../../src/base/defined.ts";
import { openProcessGroups } from "../../src/shell/process_groups.ts";
import { runShell, type ShellCommand, type ShellExit } from "../../src/shell/run_shell.ts";
import { eachShell } from "../helpers/shell_kinds.ts";
import { until } from "../helpers/until.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { ManualClock, passUntil } from "../helpers/manual_clock.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PATH = "/usr/bin:/bin";

/** A line that waits. */
type Waiting = Partial<ShellCommand> & { before: () => Promise<void> };
/** Runs a line that waits; what it printed, how it ended and which group it had. */
type Run = (line: string, more: Waiting, clock?: Clock) => Promise<Ran>;
interface Ran extends ShellExit {
  readonly out: string;
  readonly err: string;
  readonly group: number;
}

/** Registers a test for each kind of shell. */
function test(name: string, body: (run: Run) => Promise<void>): void {
  eachShell(name, (kind) =>
    body(async (line, more, clock = systemClock) => {
      await using groups = openProcessGroups();
      await kind.ready(groups);
      const said = { out: "", err: "" };
      let group = 0;
      const exit = await runShell({
        line,
        cwd: "/",
        env: { PATH },
        umask: 0o022,
        graceMs: 300,
        onOutput: (stream, chunk) => void (said[stream] += new TextDecoder("latin1").decode(chunk)),
        onStart: (pid) => group = pid,
        ...kind.fields(more.stdin),
        ...more,
      }, { groups, clock });
      return { ...exit, ...said, group };
    }));
}

const nothing = () => Promise.resolve();

/** Whether there is such a file. */
function isThere(path: string): Promise<boolean> {
  return Deno.stat(path).then(() => true, () => false);
}

test("nothing of the line runs before what it waits for is done", async (run) => {
  await using dir = await tempDir();
  let early: boolean | undefined;
  const { code, out } = await run(`touch ran; cat`, {
    cwd: dir.path,
    stdin: new TextEncoder().encode("input"),
    async before() {
      await systemClock.pause(300);
      early = await isThere(`${dir.path}/ran`);
    },
  });
  deepEqual([early, await isThere(`${dir.path}/ran`), code, out], [false, true, 0, "input"]);
});

test("standard input is what was given, to its last byte, or empty", async (run) => {
  for (
    const text of ["", "\n", "\n\nfirst\nsecond", "no end of line", "\0\xff\n\0".repeat(100_000)]
  ) {
    const stdin = Uint8Array.from(text, (char) => char.charCodeAt(0));
    const { out } = await run("cat", { stdin, before: nothing });
    equal(out, text);
  }
  const lines = new TextEncoder().encode("one\ntwo\nthree\n");
  const { out } = await run("read -r a; echo $a; head -n 1; cat >/dev/null", {
    stdin: lines,
    before: nothing,
  });
  equal(out, "one\ntwo\n");
  equal((await run("cat; echo end", { before: nothing })).out, "end\n");
  equal((await run("exit 3", { stdin: lines, before: nothing })).code, 3);
});

test("messages of the shell count lines from the first of a line that waited", async (run) => {
  const { err } = await run("true\nno-such-program", { before: nothing });
  match(err, /: 2: no-such-program|line 2|:2:/);
});

test("when what it waits for fails, nothing of the line runs, ever", async (run) => {
  await using dir = await tempDir();
  await using groups = openProcessGroups();
  for (const stdin of [undefined, new Uint8Array(), new Uint8Array(200_000).fill(0x0a)]) {
    let group = 0;
    await rejects(
      run("touch ran; sleep 30", {
        ...defined({ stdin }),
        cwd: dir.path,
        onStart: (pid) => group = pid,
        before: () => Promise.reject(new Error("The disk is full")),
      }),
      { message: "The disk is full" },
    );
    equal(await groups.alive(group), false);
  }
  equal(await isThere(`${dir.path}/ran`), false);
});

test("a line that waits may be ended, and its time counts from when it may run", async (run) => {
  const clock = new ManualClock();
  const waits = () => clock.advance(1800);
  const late = await run("exit 0", { timeoutMs: 1500, before: waits }, clock);
  deepEqual([late.code, late.endedFor], [0, undefined]);
  const begun = clock.now();
  const before = () => clock.pause(1800);
  const long = run("exec sleep 600", { timeoutMs: 1500, before }, clock);
  equal((await passUntil(clock, long, 100)).endedFor, "timeout");
  ok(clock.now() - begun >= 3300, `${clock.now() - begun}`);
  const signal = AbortSignal.abort();
  equal((await run("exec sleep 600", { signal, before: nothing })).endedFor, "signal");
});

const PROGRAM = `
const { openProcessGroups } = await import("${ROOT}src/shell/process_groups.ts");
const { systemClock } = await import("${ROOT}src/base/clock.ts");
const { runShell } = await import("${ROOT}src/shell/run_shell.ts");
runShell({
  line: "touch ran", cwd: Deno.args[0], env: { PATH: "/usr/bin:/bin" }, umask: 0o022, graceMs: 200,
  stdin: new TextEncoder().encode("\\n\\n\\n"),
  onOutput() {},
  onStart: (pid) => console.log(pid),
  before: () => new Promise(() => setTimeout(() => {}, 60_000)),
}, { groups: openProcessGroups(), clock: systemClock });
`;

Deno.test("a line whose starter is killed while it waits never runs", async () => {
  await using dir = await tempDir();
  const starter = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--config", `${ROOT}deno.json`, "-", dir.path],
    stdin: "piped",
    stdout: "piped",
    env: { NO_COLOR: "1" },
  }).spawn();
  const writer = starter.stdin.getWriter();
  await writer.write(new TextEncoder().encode(PROGRAM));
  await writer.close();
  const reader = starter.stdout.getReader();
  const pid = Number(new TextDecoder().decode((await reader.read()).value));
  await systemClock.pause(200); // the shell has started, and reads
  equal(await isThere(`/proc/${pid}`), true);
  starter.kill("SIGKILL");
  await starter.status;
  await reader.cancel();
  await using groups = openProcessGroups();
  await until("its end", async () => await groups.alive(pid) ? undefined : true);
  equal(await isThere(`${dir.path}/ran`), false);
});
