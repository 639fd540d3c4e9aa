/**
 * The door to processes, with real ones.
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
import { systemClock } from "../../src/base/clock.ts";
import { openProcessGroups, type ProcessGroups } from "../../src/shell/process_groups.ts";
import {
  type OutputStream,
  runShell,
  type ShellCommand,
  type ShellExit,
} from "../../src/shell/run_shell.ts";
import { eachShell, type ShellKind } from "../helpers/shell_kinds.ts";
import { until } from "../helpers/until.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { within } from "../helpers/within.ts";

/** How a line ended, and all it printed. */
interface Ran extends ShellExit {
  readonly out: string;
  readonly err: string;
  readonly ms: number;
  readonly group: number;
}

/** What a test works with. */
interface Bench {
  readonly kind: ShellKind;
  readonly groups: ProcessGroups;
  readonly dir: string;
  run(line: string, more?: Partial<ShellCommand>): Promise<Ran>;
}

const PATH = "/usr/bin:/bin";

/** A test with a directory and a signalling shell of its own, for each kind of shell. */
function test(name: string, body: (bench: Bench) => Promise<void>): void {
  eachShell(name, async (kind) => {
    await using dir = await tempDir();
    await using groups = openProcessGroups();
    await kind.ready(groups);
    await body({
      kind,
      groups,
      dir: dir.path,
      async run(line, more) {
        const parts: Record<OutputStream, Uint8Array[]> = { out: [], err: [] };
        let group = 0;
        const started = performance.now();
        const exit = await within(
          30_000,
          runShell({
            line,
            cwd: dir.path,
            env: { PATH },
            umask: 0o022,
            graceMs: 300,
            onOutput: (stream, chunk) => void parts[stream].push(chunk.slice()),
            onStart: (pid) => group = pid,
            ...kind.fields(more?.stdin),
            ...more,
          }, { groups, clock: systemClock }),
        );
        const ms = performance.now() - started;
        const [out, err] = await Promise.all(
          [parts.out, parts.err].map((some) => new Blob(some as BlobPart[]).text()),
        );
        return { ...exit, out: out ?? "", err: err ?? "", ms, group };
      },
    });
  });
}

/** Whether a process is there and no zombie. */
async function alive(pid: number): Promise<boolean> {
  const state = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "");
  return state !== "" && !/\) [ZX] /.test(state);
}

/** Process ids that a line wrote into a file, waited for. */
async function pidsIn(path: string, count: number): Promise<number[]> {
  return await until(`${count} process ids in ${path}`, async () => {
    const text = await Deno.readTextFile(path).catch(() => "");
    const pids = text.trim().split(/\s+/).filter((word) => word !== "").map(Number);
    return pids.length >= count ? pids : undefined;
  });
}

/** Ends a line as soon as it has printed something, and says when that was. */
function endAtOutput() {
  const end = new AbortController();
  const one = {
    at: 0,
    signal: end.signal,
    onOutput() {
      one.at ||= performance.now();
      end.abort();
    },
  };
  return one;
}

test("the exit code is that of the line", async ({ run }) => {
  for (const code of [0, 1, 2, 126, 127, 255]) {
    deepEqual((({ code, out, err }) => ({ code, out, err }))(await run(`exit ${code}`)), {
      code,
      out: "",
      err: "",
    });
  }
  equal((await run("no-such-program-at-all")).code, 127);
  equal((await run("false; true")).code, 0);
  const { code, err } = await run("if then");
  equal(code, 2);
  match(err, /yntax error/);
});

test("a signal that ends the line is 128 and its number, and is named", async ({ run }) => {
  for (const [signal, number] of [["TERM", 15], ["KILL", 9], ["SEGV", 11], ["INT", 2]] as const) {
    const { code, killedBy, endedFor } = await run(`kill -${signal} $$`);
    deepEqual([code, killedBy, endedFor], [128 + number, `SIG${signal}`, undefined]);
  }
});

test("output arrives whole, in order, each stream by itself", async ({ run }) => {
  const { out, err } = await run("for i in 1 2 3; do echo out $i; echo err $i >&2; done");
  equal(out, "out 1\nout 2\nout 3\n");
  equal(err, "err 1\nerr 2\nerr 3\n");
  equal((await run(`printf 'a\\000b\\377'`)).out, "a\0b\ufffd");
  equal((await run("head -c 3000000 /dev/zero | tr '\\0' x")).out.length, 3_000_000);
});

test("output is handed on while the line still runs", async ({ run, dir }) => {
  const { code } = await run("echo now; until [ -e go ]; do sleep 0.01; done", {
    onOutput: () => Deno.writeTextFile(`${dir}/go`, ""),
  });
  equal(code, 0);
});

test("a slow taker slows the line down, and memory stays small", async ({ run }) => {
  let [bytes, chunks] = [0, 0];
  const memory = () => Deno.memoryUsage().external; // of this test file alone
  const before = memory();
  let most = 0;
  const { code } = await run("head -c 200000000 /dev/zero", {
    onOutput: async (_, chunk) => {
      bytes += chunk.length;
      if (chunks++ % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      most = Math.max(most, memory());
    },
  });
  deepEqual([code, bytes], [0, 200_000_000]);
  ok(most - before < 100_000_000, `${most - before} bytes more`);
});

test("standard input is empty, or what was given, and need not be read", async ({ run }) => {
  equal((await run("cat; echo end")).out, "end\n");
  const stdin = new TextEncoder().encode("line\n\0".repeat(100_000));
  equal((await run("wc -c", { stdin })).out.trim(), String(stdin.length));
  equal((await run("cat", { stdin: new Uint8Array() })).out, "");
  equal((await run("exit 3", { stdin })).code, 3);
  equal((await run("exec <&-; sleep 0.1; exit 4", { stdin })).code, 4);
  equal((await run("head -c 3", { stdin })).out, "lin");
  equal((await run("exec sleep 600", { stdin, timeoutMs: 200 })).code, 143);
});

test("arguments reach the line as they are, whatever stands in them", async ({ run, dir }) => {
  const args = [
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "a b  c",
    "",
    "'\"\\",
    "-n",
    "ä\n",
  ];
  const { out, err } = await run(`printf '<%s>' "$#" "$0" "$@"`, { args });
  equal(out, `<${args.length}><sh>${args.map((arg) => `<${arg}>`).join("")}`);
  equal(err, "");
  await rejects(Deno.stat(`${dir}/pwned`), Deno.errors.NotFound);
});

test("a locale reaches the line as any other variable, and is no argument of it", async ({ run, dir }) => {
  const env = { PATH, LANG: "C.UTF-8", LC_ALL: "'$(touch pwned)\"\n", LANGUAGE: "", LC_X: "x" };
  const show = 'printf "<%s>" "$LANG" "$LC_ALL" "${LANGUAGE-unset}" "$LC_X" "$#" "$@"';
  const all = "<C.UTF-8><'$(touch pwned)\"\n><><x>";
  equal((await run(show, { env })).out, `${all}<0>`);
  equal((await run(show, { env, args: ["-n", "b c"] })).out, `${all}<2><-n><b c>`);
  equal((await run(`sh -c '${show.replaceAll("'", "")}'`, { env })).out, `${all}<0>`);
  equal((await run("/usr/bin/printenv LANG", { env, stopOnError: true })).out, "C.UTF-8\n");
  const { out } = await run("cat", {
    env,
    stdin: new Uint8Array([97]),
    before: () => Promise.resolve(),
  });
  equal(out, "a");
  await rejects(Deno.stat(`${dir}/pwned`), Deno.errors.NotFound);
});

test("variables reach the line as they are, and there are no others", async ({ run, dir }) => {
  const env = {
    PATH,
    HOSTILE: "$(touch pwned)`touch pwned`\n;touch pwned",
    LONG: "x".repeat(100_000),
  };
  Deno.env.set("SVC_TEST_LEAK", "leaked");
  try {
    equal((await run('printf %s "$HOSTILE"', { env })).out, env.HOSTILE);
    equal((await run('printf %s "$LONG"', { env })).out.length, 100_000);
    const names = (await run("env", { env: { PATH, A: "1" } })).out.split("\n")
      .map((line) => line.split("=")[0] ?? "").filter((name) =>
        !["", "_", "OLDPWD"].includes(name)
      );
    deepEqual(names.toSorted(), ["A", "PATH", "PWD"]);
  } finally {
    Deno.env.delete("SVC_TEST_LEAK");
  }
  await rejects(Deno.stat(`${dir}/pwned`), Deno.errors.NotFound);
});

test("the line runs in its directory, under its mask", async ({ run, dir }) => {
  equal((await run("pwd")).out.trim(), await Deno.realPath(dir));
  for (
    const [umask, mode] of [[0o022, 0o644], [0o077, 0o600], [0o002, 0o664], [0, 0o666]] as const
  ) {
    await run(`: > file${umask}`, { umask });
    equal((await Deno.stat(`${dir}/file${umask}`)).mode ?? 0, 0o100000 | mode);
  }
});

test("messages of the shell count lines from the first of the line", async ({ run }) => {
  match((await run("true\nno-such-program")).err, /: 2: no-such-program|line 2|:2:/);
});

test("a line that cannot be started is refused, and the next line runs", async ({ run, dir }) => {
  await rejects(run("true", { cwd: `${dir}/none` }), { code: "invalid" });
  await Deno.writeTextFile(`${dir}/file`, "");
  await rejects(run("true", { cwd: `${dir}/file` }), { code: "invalid" });
  await rejects(run("true", { env: { PATH, A: "x".repeat(200_000) } }), { code: "invalid" });
  await rejects(run("true", { env: { PATH, A: "a\0b" } }), { code: "invalid" });
  await rejects(run("true\0"), { code: "invalid" });
  await rejects(run("true", { args: ["a\0b"] }), { code: "invalid" });
  equal((await run("true")).code, 0);
});

test("a line that takes too long gets TERM", async ({ run }) => {
  const { code, killedBy, endedFor } = await run("exec sleep 600", { timeoutMs: 200 });
  deepEqual([code, killedBy, endedFor], [143, "SIGTERM", "timeout"]);
});

test("a line may tidy up on TERM", async ({ run, dir }) => {
  const line = "trap 'echo > tidy; exit 7' TERM; echo ready; while :; do sleep 0.05; done";
  const { code, endedFor } = await run(line, { ...endAtOutput(), graceMs: 60_000 });
  deepEqual([code, endedFor, await Deno.readTextFile(`${dir}/tidy`)], [7, "signal", "\n"]);
});

test("a line that will not end gets KILL after the grace", async ({ run, groups }) => {
  const line = "trap '' TERM INT HUP; echo ready; while :; do sleep 0.05; done";
  const end = endAtOutput();
  const { code, killedBy, endedFor, group } = await run(line, { ...end, graceMs: 300 });
  const ms = performance.now() - end.at;
  deepEqual([code, killedBy, endedFor], [137, "SIGKILL", "signal"]);
  ok(ms > 250, `${ms}`);
  equal(await groups.alive(group), false);
});

test("a stopped line is ended as well", async ({ run }) => {
  equal((await run("kill -STOP $$; echo never", { timeoutMs: 200 })).endedFor, "timeout");
});

test("an abort ends the line, also one that came before it", async ({ run, groups, kind }) => {
  const first = await run("echo begun; exec sleep 600", endAtOutput());
  deepEqual([first.endedFor, first.code], ["signal", 143]);
  const second = await run("touch ran; exec sleep 600", { signal: AbortSignal.abort() });
  equal(second.endedFor, "signal");
  // A pooled shell has not begun the line, and waits for the next one.
  if (!kind.isPooled) equal(await groups.alive(second.group), false);
});

test("children of the line end with it on a timeout, however deep", async ({ run, dir }) => {
  const line = "sh -c 'sh -c \"sleep 30 & echo \\$! >> pids; wait\" & echo $! >> pids; wait' & " +
    "echo $! >> pids; wait";
  const end = new AbortController();
  const running = run(line, { signal: end.signal });
  const pids = await pidsIn(`${dir}/pids`, 3);
  end.abort();
  equal((await running).endedFor, "signal");
  deepEqual(await Promise.all(pids.map(alive)), [false, false, false]);
});

test("children left in the background are ended when the line is over", async ({ run, dir }) => {
  const { code, out } = await run("sleep 600 & echo $! > pids; echo done; exit 5");
  deepEqual([code, out], [5, "done\n"]);
  const pids = await pidsIn(`${dir}/pids`, 1);
  deepEqual(await Promise.all(pids.map(alive)), [false]);
});

test("children in the background that ignore TERM are killed", async ({ run, dir }) => {
  const line = "sh -c \"trap '' TERM; echo \\$\\$ > pids; while :; do sleep 0.05; done\" & " +
    "until [ -s pids ]; do sleep 0.01; done";
  equal((await run(line)).code, 0);
  const pids = await pidsIn(`${dir}/pids`, 1);
  deepEqual(await Promise.all(pids.map(alive)), [false]);
});

test("a child that left the group cannot hold up the verdict by holding the pipe", async ({ run, groups, dir }) => {
  const mark = crypto.randomUUID().replaceAll("-", "");
  const env = { PATH, SVC_MARK: mark };
  const line = "setsid sh -c 'echo $$ > pids; exec sleep 600' & " +
    "until [ -s pids ]; do sleep 0.01; done; echo done";
  const { code, out } = await run(line, { env });
  deepEqual([code, out], [0, "done\n"]);
  const [pid = 0] = await pidsIn(`${dir}/pids`, 1);
  equal(await alive(pid), true, "out of reach of its group");
  await groups.endMarked("SVC_MARK", mark);
  equal(await alive(pid), false, "but found by its mark");
});

test("endOrphans finds who left the group of a line that is over, and whoever that has started", async ({ run, groups, dir }) => {
  const [mark, other] = [1, 2].map(() => crypto.randomUUID().replaceAll("-", ""));
  const line =
    "setsid sh -c 'echo $$ >> pids; trap : TERM; sleep 600 & echo $! >> pids; wait; wait' " +
    '>/dev/null 2>&1 & until [ "$(wc -l < pids)" -ge 2 ]; do sleep 0.01; done';
  const env = (value = "") => ({ PATH, SVC_MARK: value });
  await Deno.writeTextFile(`${dir}/pids`, "");
  await run(line, { env: env(other) });
  const others = await pidsIn(`${dir}/pids`, 2);
  await Deno.writeTextFile(`${dir}/pids`, "");
  await run(line, { env: env(mark) });
  const pids = await pidsIn(`${dir}/pids`, 2);
  deepEqual(await Promise.all([...pids, ...others].map(alive)), [true, true, true, true]);
  await groups.endOrphans("SVC_MARK", mark ?? "");
  deepEqual(await Promise.all([...pids, ...others].map(alive)), [false, false, true, true]);
  await groups.endOrphans("SVC_MARK", "nobody");
  await groups.endOrphans("OTHER", other ?? "");
  deepEqual(await Promise.all(others.map(alive)), [true, true]);
  await groups.endOrphans("SVC_MARK", other ?? "");
  deepEqual(
    await Promise.all(others.map(alive)),
    [false, false],
    "seen before, with another value",
  );
});

test("endOrphans finds one that begins another program for a while, and waits for no other for long", async ({ run, groups, dir }) => {
  const mark = crypto.randomUUID().replaceAll("-", "");
  // For the time of its sleep it has no environment, as a process has that begins another program.
  const begins =
    `setsid env -i /bin/sh -c 'echo $$ >> pids; sleep 0.2; exec env SVC_MARK=${mark} sleep 600'`;
  const never = "setsid env -i /bin/sh -c 'echo $$ >> pids; exec env -i sleep 600'";
  const line =
    `(${begins} &) ; (${never} &) ; until [ "$(wc -l < pids)" -ge 2 ]; do sleep 0.01; done`;
  await Deno.writeTextFile(`${dir}/pids`, "");
  await run(`exec >/dev/null 2>&1; ${line}`, { env: { PATH } });
  const pids = await pidsIn(`${dir}/pids`, 2);
  try {
    await groups.endOrphans("SVC_MARK", mark);
    const bare = await Promise.all(
      pids.map((pid) => Deno.readTextFile(`/proc/${pid}/environ`).catch(() => "gone")),
    );
    deepEqual(bare.toSorted(), ["", "gone"]);
    const start = performance.now();
    for (let n = 0; n < 5; n++) await groups.endOrphans("SVC_MARK", mark);
    ok(performance.now() - start < 400, "it is not examined any more");
  } finally {
    await run(`kill -KILL ${pids.join(" ")} || true`);
  }
});

test("endOrphans takes a small part of the time of endMarked when no process is left", async ({ groups }) => {
  const took: Record<"endMarked" | "endOrphans", number[]> = { endMarked: [], endOrphans: [] };
  for (let n = 0; n < 51; n++) { // in turns: the machine may be busier at some time
    for (const name of ["endMarked", "endOrphans"] as const) {
      const start = performance.now();
      await groups[name]("SVC_MARK", `nobody${n}`);
      took[name].push(performance.now() - start);
    }
  }
  const median = (some: number[]) => some.toSorted((a, b) => a - b)[25] ?? 0;
  const [marked, orphans] = [median(took.endMarked), median(took.endOrphans)];
  ok(orphans < marked / 2, `${orphans} ms against ${marked} ms`);
});

test("endMarked ends no other process", async ({ groups, dir, run }) => {
  const mark = crypto.randomUUID().replaceAll("-", "");
  const other = `${mark.slice(0, -1)}${mark.endsWith("0") ? "1" : "0"}`;
  const bystander = run("echo $$ > pids; sleep 1; echo unharmed", {
    env: { PATH, SVC_MARK: other },
  });
  await pidsIn(`${dir}/pids`, 1);
  await groups.endMarked("SVC_MARK", mark);
  await groups.endMarked("SVC_MARK", mark.slice(0, 8));
  await groups.endMarked("MARK", other);
  equal((await bystander).out, "unharmed\n");
});

test("a fork bomb of a kind is ended by its mark", async ({ run, groups, dir }) => {
  const mark = crypto.randomUUID().replaceAll("-", "");
  const line = 'for i in 1 2 3 4 5 6 7 8; do setsid sh -c \'echo $$ >> pids; trap "" TERM; ' +
    "while :; do sleep 1 & wait; done' & done; wait";
  const end = new AbortController();
  const running = run(line, { env: { PATH, SVC_MARK: mark }, signal: end.signal });
  const pids = await pidsIn(`${dir}/pids`, 8);
  end.abort();
  await running;
  await groups.endMarked("SVC_MARK", mark);
  deepEqual(new Set(await Promise.all(pids.map(alive))), new Set([false]));
});

test("output without end is ended on time", async ({ run }) => {
  let bytes = 0;
  const { endedFor } = await run("exec yes", {
    timeoutMs: 1000,
    onOutput: (_, chunk) => void (bytes += chunk.length),
  });
  equal(endedFor, "timeout");
  ok(bytes > 0);
});

test("two hundred lines at once all end", async ({ run }) => {
  const lines = Array.from({ length: 200 }, (_, n) => run(`echo ${n}; exit ${n % 2}`));
  const ran = await Promise.all(lines);
  deepEqual(ran.map(({ out }) => out), lines.map((_, n) => `${n}\n`));
  deepEqual(ran.map(({ code }) => code), lines.map((_, n) => n % 2));
});

test("many lines that take too long are ended side by side", async ({ run }) => {
  const stubborn = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
  const end = new AbortController();
  const ended: number[] = [];
  let ready = 0;
  const onOutput = () => void (++ready === 10 && end.abort());
  const ran = await Promise.all(Array.from({ length: 10 }, async () => {
    const exit = await run(stubborn, { signal: end.signal, onOutput, graceMs: 2000 });
    ended.push(performance.now());
    return exit;
  }));
  deepEqual(new Set(ran.map(({ killedBy }) => killedBy)), new Set(["SIGKILL"]));
  const [first = 0, last = 0] = [ended[0], ended.at(-1)];
  ok(last - first < 9 * 2000, "one after the other they would need a grace each");
});

Deno.test("the grace of a group is time on the clock, however few looks fit into it", async () => {
  await using groups = openProcessGroups();
  const child = new Deno.Command("/bin/sh", {
    args: ["-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"],
    detached: true,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  const now = performance.now.bind(performance);
  let passed = 0;
  performance.now = () => now() + (passed += 60_000); // every look takes a minute
  try {
    await within(20_000, groups.end(child.pid, 600_000));
    equal((await child.status).signal, "SIGKILL");
  } finally {
    performance.now = now;
    await groups.end(child.pid, 0);
    await reader.cancel();
  }
});

Deno.test("groups say who is alive, and are gone with their owner", async () => {
  const groups = openProcessGroups();
  const child = new Deno.Command("sleep", { args: ["30"], detached: true }).spawn();
  equal(await groups.alive(child.pid), true);
  await groups.end(child.pid, 1000);
  equal(await groups.alive(child.pid), false);
  await child.status;
  await groups.end(child.pid, 1000); // who is gone already
  equal(await groups.alive(2 ** 22 - 1), false);
  await within(2000, groups[Symbol.asyncDispose]());
});
