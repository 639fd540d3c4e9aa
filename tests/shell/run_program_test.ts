import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { utf8 } from "../../src/base/bytes.ts";
import { type ProgramRun, runProgram, startProgram } from "../../src/shell/run_program.ts";
import { ManualClock } from "../helpers/manual_clock.ts";
import { tempDir } from "../helpers/temp_dir.ts";
import { until, untilFile } from "../helpers/until.ts";

const RUN = {
  env: { PATH: "/usr/bin:/bin" },
  cwd: "/",
  timeoutMs: 60_000,
  signal: new AbortController().signal,
  maxBytes: 1000,
};

/** Runs a script of the shell. */
async function run(script: string, more: Partial<ProgramRun> = {}) {
  const ended = await runProgram({ ...RUN, line: ["sh", "-c", script], ...more }, systemClock);
  return { ...ended, out: new TextDecoder().decode(ended.out) };
}

Deno.test("a program has its arguments, its environment, and its input, and nothing else", async () => {
  const line = ["printf", "%s|", "$HOME", "a b", "'", "; exit 3"] as const;
  deepEqual(await run("", { line }), { code: 0, err: "", out: "$HOME|a b|'|; exit 3|" });
  const env = { ...RUN.env, WORD: "x y" };
  equal(
    (await run("env | grep -v '^_=\\|^PWD=\\|^SHLVL=' | sort", { env })).out,
    "PATH=/usr/bin:/bin\nWORD=x y\n",
  );
  equal((await run("cat")).out, "");
  equal((await run("cat", { input: utf8("given") })).out, "given");
  await using dir = await tempDir();
  equal((await run("cat", { inputFile: await dir.write("in put", "of a file") })).out, "of a file");
});

Deno.test("a program ends with its code and its words", async () => {
  deepEqual(await run("echo no >&2; exit 3"), { code: 3, err: "no", out: "" });
  equal((await run("", { line: ["svc-no-such-program"] })).code, 127);
  const quiet = await run("exec <&-; exit 4", { input: new Uint8Array(1_000_000) });
  equal(quiet.code, 4, "one that does not read its input");
});

Deno.test("a program that prints too much is ended, also when it has ended by itself", async () => {
  const endless = await run("yes");
  deepEqual([endless.endedFor, endless.out.length], ["output", 1000]);
  for (let time = 0; time < 10; time++) {
    const short = await run("printf %01001d 0");
    deepEqual([short.endedFor, short.out.length], ["output", 1000]);
  }
  equal((await run("printf %01000d 0")).endedFor, undefined);
  ok((await run("yes | head -c 100000 >&2")).err.length <= 16 * 1024);
});

Deno.test("a program ends with its time, and with its signal", async () => {
  const clock = new ManualClock();
  const started = startProgram({ ...RUN, line: ["sleep", "1000"] }, clock);
  clock.advance(RUN.timeoutMs);
  equal((await started.ended).endedFor, "timeout");
  await started[Symbol.asyncDispose]();
  const stop = new AbortController();
  const running = run("echo here; exec sleep 1000", { signal: stop.signal });
  stop.abort();
  equal((await running).endedFor, "signal");
  equal((await run("exec sleep 1000", { signal: AbortSignal.abort() })).endedFor, "signal");
});

/** A script that starts a process which keeps the output open, and writes its number to `path`. */
const leaves = (path: string) => `sleep 1000 & echo $! > ${path}; `;

/** Whether a process has ended, or ends soon. */
const isGone = (path: string) =>
  until(`the end of the process of ${path}`, async () => {
    const pid = (await Deno.readTextFile(path)).trim();
    const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => "(sleep) Z");
    return /\) [ZX]/.test(stat) || undefined;
  });

Deno.test("what a program has started ends with it, however that ends", async () => {
  await using dir = await tempDir();
  const path = (name: string) => `${dir.path}/${name}`;
  equal((await run(`${leaves(path("end"))} exit 3`)).code, 3);
  await isGone(path("end"));
  equal((await run(`${leaves(path("time"))} wait`, { timeoutMs: 300 })).endedFor, "timeout");
  await isGone(path("time"));
  equal((await run(`${leaves(path("output"))} exec yes`)).endedFor, "output");
  await isGone(path("output"));
  const stop = new AbortController();
  const running = run(`${leaves(path("stop"))} wait`, { signal: stop.signal });
  await untilFile(path("stop"));
  stop.abort();
  equal((await running).endedFor, "signal");
  await isGone(path("stop"));
});
