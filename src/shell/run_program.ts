/**
 * Runs a program for svc itself, such as git: with the environment it is given and no other, without a
 * shell that interprets its arguments, and within bounds of time and output. What it has started ends with
 * it.
 *
 * @module
 */

import { concatBytes } from "../base/bytes.ts";
import type { Clock } from "../base/clock.ts";
import { AppError, findNotNow, messageOf } from "../base/errors.ts";
import type { ProgramLine } from "./ask_program.ts";
import { Capture } from "./capture.ts";
import { Pump } from "./pump.ts";

/** A program to run. */
export interface ProgramStart {
  readonly line: ProgramLine;
  /** All of its environment; `PATH` is where it is looked for. */
  readonly env: Readonly<Record<string, string>>;
  /** Its working directory. */
  readonly cwd: string;
  /** Path of the file that it reads as standard input; absent, what is written to it. */
  readonly inputFile?: string;
  /** It is killed after this time, with all processes of its group. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The end of a program. */
export interface ProgramEnd {
  /** Exit code; 127 if there is no such program. */
  readonly code: number;
  /** The beginning of its standard error. */
  readonly err: string;
  /** Why svc has killed it. */
  readonly endedFor?: "timeout" | "signal" | "output";
}

/** The end of a program with its output. */
export interface ProgramOutput extends ProgramEnd {
  readonly out: Uint8Array<ArrayBuffer>;
}

/** A program that runs; disposing it kills it. */
export interface RunningProgram extends AsyncDisposable {
  readonly output: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Resolves also when the program no longer reads. */
  write(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  /** Ends its standard input. */
  endInput(): Promise<void>;
  readonly ended: Promise<ProgramEnd>;
  kill(reason: "output"): void;
}

/** Most bytes of standard error that are kept. */
const MAX_ERR_BYTES = 16 * 1024;

// The limit holds when svc is killed and cannot end the program.
const LINE = 'ulimit -t "$1" 2>/dev/null; shift; exec "$@"';
const LINE_WITH_INPUT = `in=$1; shift; exec <"$in" || exit 126; ${LINE}`;

/**
 * Starts a program.
 *
 * @throws {AppError} `overloaded` when the machine lacks something for it.
 */
export function startProgram(start: ProgramStart, clock: Pick<Clock, "after">): RunningProgram {
  const { line, env, cwd, inputFile, timeoutMs, signal } = start;
  const limit = String(Math.ceil(timeoutMs / 1000));
  const args = inputFile === undefined
    ? ["-c", LINE, "sh", limit, ...line]
    : ["-c", LINE_WITH_INPUT, "sh", inputFile, limit, ...line];
  const child = spawn(line[0], {
    args,
    cwd,
    clearEnv: true,
    env,
    stdin: inputFile === undefined ? "piped" : "null",
    stdout: "piped",
    stderr: "piped",
    detached: true, // a group of its own
  });
  let endedFor: ProgramEnd["endedFor"];
  let over = false;
  const kill = (reason: ProgramEnd["endedFor"]) => {
    if (over) return;
    endedFor ??= reason;
    killGroup(child.pid);
  };
  const onAbort = () => kill("signal");
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  const timer = clock.after(timeoutMs, () => kill("timeout"));
  const err = new Capture(MAX_ERR_BYTES);
  const pump = new Pump(child.stderr, (chunk) => err.add(chunk));
  const input = inputFile === undefined ? child.stdin.getWriter() : undefined;
  input?.closed.catch(() => {});
  const ended = (async (): Promise<ProgramEnd> => {
    const { code } = await child.status;
    over = true;
    killGroup(child.pid); // what it has left would keep its output open
    timer[Symbol.dispose]();
    signal.removeEventListener("abort", onAbort);
    await pump.done;
    const end = { code, err: new TextDecoder().decode(err.bytes()).trim() };
    return endedFor === undefined ? end : { ...end, endedFor };
  })();
  return {
    output: child.stdout,
    async write(bytes) {
      await input?.write(bytes).catch(() => {});
    },
    async endInput() {
      await input?.close().catch(() => {});
    },
    ended,
    kill,
    async [Symbol.asyncDispose]() {
      kill("signal");
      await input?.abort().catch(() => {});
      if (!child.stdout.locked) await child.stdout.cancel().catch(() => {});
      await ended;
    },
  };
}

function killGroup(group: number): void {
  try {
    Deno.kill(-group, "SIGKILL");
  } catch {
    // Nothing of it is left.
  }
}

function spawn(name: string, options: Deno.CommandOptions): Deno.ChildProcess {
  try {
    return new Deno.Command("/bin/sh", options).spawn();
  } catch (cause) {
    throw findNotNow(cause) ??
      new AppError("invalid", `Cannot start ${name}: ${messageOf(cause)}`, { cause });
  }
}

/** A program to run to its end. */
export interface ProgramRun extends ProgramStart {
  /** Its standard input, unless that is a file; empty if absent. */
  readonly input?: Uint8Array<ArrayBuffer>;
  /** Most bytes of its output: one that prints more is killed. */
  readonly maxBytes: number;
}

/**
 * Runs a program to its end.
 *
 * @throws {AppError} what {@linkcode startProgram} throws.
 */
export async function runProgram(
  run: ProgramRun,
  clock: Pick<Clock, "after">,
): Promise<ProgramOutput> {
  await using program = startProgram(run, clock);
  const feeding = (async () => {
    if (run.input !== undefined) await program.write(run.input);
    await program.endInput();
  })();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let left = run.maxBytes;
  for await (const chunk of program.output) {
    parts.push(chunk.subarray(0, left));
    left -= chunk.length;
    if (left >= 0) continue;
    program.kill("output");
    break;
  }
  const end = await program.ended;
  await feeding;
  const out = concatBytes(...parts);
  // It may have ended by itself before it was killed, and printed too much all the same.
  return left < 0 && end.endedFor === undefined
    ? { ...end, out, endedFor: "output" }
    : { ...end, out };
}
