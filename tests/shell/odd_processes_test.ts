/**
 * Processes that do not look as one expects, whatever they are called and however they stand: each
 * is ended, and by KILL where it minds nothing else.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { openProcessGroups, type ProcessGroups } from "../../src/shell/process_groups.ts";
import { runShell, type ShellCommand, type ShellExit } from "../../src/shell/run_shell.ts";
import { processRuns, until, untilFile } from "../helpers/until.ts";
import { missing } from "../helpers/requirements.ts";
import { eachShell } from "../helpers/shell_kinds.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { within } from "../helpers/within.ts";

/** What a test works with. */
interface Bench {
  readonly groups: ProcessGroups;
  readonly dir: string;
  run(line: string, more?: Partial<ShellCommand>): Promise<ShellExit>;
}

function test(name: string, body: (bench: Bench) => Promise<void>, skip?: string): void {
  eachShell(name, async (kind) => {
    await using dir = await tempDir();
    await using groups = openProcessGroups();
    await kind.ready(groups);
    await body({
      groups,
      dir: dir.path,
      run: (line, more) =>
        within(
          30_000,
          runShell({
            line,
            cwd: dir.path,
            env: { PATH: "/usr/bin:/bin" },
            umask: 0o022,
            graceMs: 200,
            onOutput() {},
            ...kind.fields(more?.stdin),
            ...more,
          }, { groups, clock: systemClock }),
        ),
    });
  }, skip);
}

/** What a process may be called, as `printf` writes it; the kernel keeps 15 bytes. */
const NAMES = [
  String.raw`a\nb`,
  String.raw`\n\n\n\n`,
  String.raw`a\n1 (b) Z 1 1`,
  ") R 1 1 1",
  ") Z 1 1 1",
  "((((",
  "))))",
  String.raw`) \n) \n) `,
  "two words ",
  String.raw`\t \t`,
  String.raw`\377\376\200`,
  "14 and a slash" + String.raw`\\`,
  "* $(id) [a-z]",
];

/** Names the shell that runs it; it then minds no TERM, has no child, and never ends. */
const NAMED = `
  printf "$1" > /proc/$$/comm || exit 99
  trap '' TERM; mkfifo "fifo$$"; exec 3<>"fifo$$"; echo $$ > pid; read _ <&3`;

test("a line that ignores TERM gets KILL after the grace, under any name", async ({ run, dir }) => {
  await Promise.all(NAMES.map(async (name, n) => {
    const cwd = `${dir}/${n}`;
    await Deno.mkdir(cwd);
    const { endedFor, killedBy } = await run(NAMED, { args: [name], cwd, timeoutMs: 1000 });
    deepEqual([endedFor, killedBy], ["timeout", "SIGKILL"], name);
  }));
});

test("a process left in the background is ended with the line, under any name", async ({ run, dir }) => {
  await Promise.all(NAMES.map(async (name, n) => {
    const cwd = `${dir}/${n}`;
    await Deno.mkdir(cwd);
    const line = `sh -c '${NAMED.replaceAll("'", `'\\''`)}' sh "$1" >/dev/null & ` +
      "until [ -s pid ]; do sleep 0.01; done";
    equal((await run(line, { args: [name], cwd })).code, 0, name);
    equal(await processRuns(Number(await untilFile(`${cwd}/pid`))), false, name);
  }));
});

test("a process that left the group is found by its mark, under any name", async ({ run, groups, dir }) => {
  for (const name of NAMES) {
    await Deno.remove(`${dir}/pid`).catch(() => {});
    const mark = crypto.randomUUID().replaceAll("-", "");
    const line = `setsid sh -c '${NAMED.replaceAll("'", `'\\''`)}' sh "$1" >/dev/null 2>&1 & ` +
      "until [ -s pid ]; do sleep 0.01; done";
    await run(line, { args: [name], env: { PATH: "/usr/bin:/bin", SVC_MARK: mark } });
    const pid = Number(await untilFile(`${dir}/pid`));
    equal(await processRuns(pid), true, name);
    await groups.endOrphans("SVC_MARK", mark);
    equal(await processRuns(pid), false, name);
  }
});

test("a process without its environment is found through another process of its group", async ({ groups, dir }) => {
  const mark = crypto.randomUUID().replaceAll("-", "");
  // As after a crash: their group is not known any more.
  const line = `env -i sh -c '${NAMED.replaceAll("'", `'\\''`)}' sh "$1" & read _ <&3; wait`;
  const child = new Deno.Command("/bin/sh", {
    args: ["-c", `mkfifo up; exec 3<>up; ${line}`, "sh", NAMES[0] ?? ""],
    cwd: dir,
    clearEnv: true,
    env: { PATH: "/usr/bin:/bin", SVC_MARK: mark },
    detached: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const pid = Number(await untilFile(`${dir}/pid`));
  await groups.endMarked("SVC_MARK", mark);
  equal((await child.status).signal, "SIGKILL");
  equal(await processRuns(pid), false);
});

test("a process of the daemon's own group is ended alone", async ({ groups }) => {
  const mark = crypto.randomUUID().replaceAll("-", "");
  const child = new Deno.Command("sleep", { args: ["600"], env: { SVC_MARK: mark } }).spawn();
  // The kernel says that it runs a moment before it shows its environment.
  await until("its environment", async () => {
    const environ = await Deno.readTextFile(`/proc/${child.pid}/environ`);
    return environ.includes(mark) || undefined;
  });
  await groups.endMarked("SVC_MARK", mark);
  const { code, signal } = await child.status;
  deepEqual({ code, signal }, { code: 137, signal: "SIGKILL" }); // and this process is still there
});

test("a process gets one TERM, and may take its grace to tidy up", async ({ run, dir }) => {
  const line = "trap 'echo term >> terms' TERM; while :; do sleep 0.01; done";
  const { killedBy } = await run(line, { timeoutMs: 200, graceMs: 1000 });
  equal(killedBy, "SIGKILL");
  equal(await Deno.readTextFile(`${dir}/terms`), "term\n");
});

/** A process whose first thread has ended, and which lives on in another one. */
const HEADLESS = `
import ctypes, os, signal, threading, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
threading.Thread(target=time.sleep, args=(600,)).start()
open("pid", "w").write(str(os.getpid()))
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)`;

test("a process that lives on without its first thread is no dead one", async ({ run, dir }) => {
  const line = `python3 -c '${HEADLESS}' & until [ -s pid ]; do sleep 0.01; done
    until grep -q '^State:.Z' /proc/$(cat pid)/status; do sleep 0.01; done`;
  equal((await run(line, { env: { PATH: Deno.env.get("PATH") ?? "" } })).code, 0);
  const pid = Number(await untilFile(`${dir}/pid`));
  const threads = [...safeReadDir(`/proc/${pid}/task`)];
  ok(threads.length < 2, threads.join());
}, missing("python3"));

function safeReadDir(path: string): string[] {
  try {
    return [...Deno.readDirSync(path)].map(({ name }) => name);
  } catch {
    return []; // it has been taken off
  }
}
