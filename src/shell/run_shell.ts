/**
 * The door to processes: one shell line in a process group of its own, with a clean environment,
 * output handed on as it comes, a timeout, and no process of the group left when it is over. Knows
 * no policy and no task. Text from outside gets in by environment, argument or standard input only.
 *
 * @module
 */

import { AppError, messageOf } from "../base/errors.ts";
import type { Clock } from "../base/clock.ts";
import type { ProcessGroups } from "./process_groups.ts";

/** Which stream some output came from. */
export type OutputStream = "out" | "err";

/** What to run. */
export interface ShellCommand {
  /** Goes to `/bin/sh -c` as it stands. */
  readonly line: string;
  /** `$1`, `$2`, … of the line. */
  readonly args?: readonly string[];
  /** Working directory. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Standard input; empty when absent. */
  readonly stdin?: Uint8Array;
  /**
   * What has to be done before the line may run: begun when its shell is there, which takes a while
   * to start and then waits. When it fails, nothing of the line runs, nor when this process ends
   * before.
   */
  readonly before?: () => Promise<void>;
  /** File mode mask of the child. */
  readonly umask: number;
  /** Ends the group this long after the line may run; never when absent. */
  readonly timeoutMs?: number;
  /** How long the group has between TERM and KILL. */
  readonly graceMs: number;
  /** Ends the group when it aborts. */
  readonly signal?: AbortSignal;
  /**
   * Receives output in order; reading waits for it, and then uses the memory of the chunk again.
   */
  readonly onOutput: (stream: OutputStream, chunk: Uint8Array) => void | Promise<void>;
  /** Told the process group as soon as there is one. */
  readonly onStart?: (group: number) => void;
}

/** What commands run with. */
export interface ShellHost {
  /** Ends what they leave behind. */
  readonly groups: ProcessGroups;
  /** Measures their timeouts. */
  readonly clock: Clock;
}

/** How it ended. */
export interface ShellExit {
  /** Exit status; 128 + signal number when a signal ended the shell. */
  readonly code: number;
  /** Name of the signal that ended the shell, such as `SIGKILL`. */
  readonly killedBy?: string;
  /** What made us end it, if we did. */
  readonly endedFor?: "timeout" | "signal";
}

/** Most that is read at once; a process that prints little never gets a buffer of that size. */
const READ_BYTES = 64 * 1024;
const FIRST_READ_BYTES = 4 * 1024;

/**
 * How long output may still arrive after the group is gone; a process that left it may hold the
 * pipe.
 */
const DRAIN_MS = 1000;

/** How long children left in the background have after the shell line itself is over. */
const LEFTOVER_GRACE_MS = 1000;

/** Longest pause before a process that no signal has ended is signalled again. */
const MAX_STEP_MS = 1000;

/**
 * Makes the shell wait for the line end that is written first; when the run is cancelled instead,
 * the pipe closes and the shell ends. A shell reads no more than that line from a pipe, so the rest
 * is left for the command.
 */
const WAIT = "read -r _ || exit 126; ";

/**
 * A line that is nothing but the path of a program and plain arguments: there is nothing the shell
 * could do with it but start that and wait, which dash does with a process more (measured: 0.2 to
 * 0.35 ms of 3).
 */
const ONE_FILE = /^(?!-)[\w.+,@-]*\/[\w.+,@/-]*(?: +[\w.+,@/:=-]+)*$/;

/**
 * Runs one shell line to its end.
 *
 * @throws {AppError} `invalid` when the process cannot be started at all; and what `before` threw.
 */
export async function runShell(command: ShellCommand, host: ShellHost): Promise<ShellExit> {
  const { groups, clock } = host;
  const child = spawn(command, groups.setsid);
  command.onStart?.(child.pid);
  const pumps = [
    new Pump(child.stdout, (chunk) => command.onOutput("out", chunk)),
    new Pump(child.stderr, (chunk) => command.onOutput("err", chunk)),
  ];
  const failure = await command.before?.().then(() => undefined, (error) => ({ error }));
  const feeding = feed(child, failure === undefined ? inputOf(command) : []);
  const endedFor = await untilOver(child, command, host);
  const status = await child.status;
  if (await groups.alive(child.pid)) await groups.end(child.pid, LEFTOVER_GRACE_MS);
  await Promise.all(pumps.map((pump) => pump.finish(DRAIN_MS, clock)));
  await feeding;
  if (failure !== undefined) throw failure.error;
  return {
    code: status.code,
    ...(status.signal === null ? {} : { killedBy: status.signal }),
    ...(endedFor === undefined ? {} : { endedFor }),
  };
}

function spawn(command: ShellCommand, setsid: string | undefined): Deno.ChildProcess {
  // On the line itself, so that the shell's messages still count lines from 1.
  const line = [
    `umask ${command.umask.toString(8).padStart(4, "0")}; `,
    command.before === undefined ? "" : WAIT,
    ONE_FILE.test(command.line) ? "exec " : "",
    command.line,
  ].join("");
  const args = ["-c", line, "sh", ...command.args ?? []];
  try {
    return new Deno.Command(setsid ?? "/bin/sh", {
      args: setsid === undefined ? args : ["/bin/sh", ...args],
      cwd: command.cwd,
      clearEnv: true,
      env: { ...command.env },
      stdin: inputOf(command) === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
      detached: setsid === undefined,
    }).spawn();
  } catch (cause) {
    throw new AppError("invalid", `Cannot start a process: ${messageOf(cause)}`, { cause });
  }
}

/** Waits for the shell to end by itself, or ends its group on timeout and abort. */
async function untilOver(
  child: Deno.ChildProcess,
  command: ShellCommand,
  host: ShellHost,
): Promise<ShellExit["endedFor"]> {
  const { promise: stop, resolve: stopFor } = Promise.withResolvers<"timeout" | "signal">();
  const onAbort = () => stopFor("signal");
  using _timer = command.timeoutMs === undefined
    ? undefined
    : host.clock.after(command.timeoutMs, () => stopFor("timeout"));
  command.signal?.addEventListener("abort", onAbort);
  if (command.signal?.aborted === true) onAbort();
  try {
    const over = child.status.then(() => undefined);
    const why = await Promise.race([over, stop]);
    if (why !== undefined) await endChild(child, command.graceMs, host);
    return why;
  } finally {
    command.signal?.removeEventListener("abort", onAbort);
  }
}

/** Ends a group, also one that is only about to be made: then it has no process yet. */
async function endChild(
  child: Deno.ChildProcess,
  graceMs: number,
  { groups, clock }: ShellHost,
): Promise<void> {
  const over = new AbortController();
  child.status.then(() => over.abort());
  for (let step = 5; !over.signal.aborted; step = Math.min(step * 2, MAX_STEP_MS)) {
    await groups.end(child.pid, graceMs);
    await clock.pause(step, over.signal);
  }
}

const LINE_END = new Uint8Array([0x0a]);

/**
 * What goes through the pipe of standard input, in turn; `undefined` when there is no need for one.
 */
function inputOf({ stdin, before }: ShellCommand): readonly Uint8Array[] | undefined {
  if (before === undefined) return stdin === undefined ? undefined : [stdin];
  return stdin === undefined ? [LINE_END] : [LINE_END, stdin];
}

/** A child may close its standard input without reading it; that is its right. */
async function feed(
  child: Deno.ChildProcess,
  input: readonly Uint8Array[] | undefined,
): Promise<void> {
  if (input === undefined) return;
  const writer = child.stdin.getWriter();
  for (const part of input) await writer.write(part as Uint8Array<ArrayBuffer>).catch(() => {});
  await writer.close().catch(() => {});
}

/** Reads one stream to its end, or until told to stop waiting for it. */
class Pump {
  readonly #reader: ReadableStreamBYOBReader;
  readonly #done: Promise<void>;
  #failure: { readonly error: unknown } | undefined;
  #over = false;

  constructor(
    stream: ReadableStream<Uint8Array>,
    sink: (chunk: Uint8Array) => void | Promise<void>,
  ) {
    this.#reader = stream.getReader({ mode: "byob" });
    this.#done = this.#run(sink).then(() => void (this.#over = true));
  }

  /**
   * Reads on when the sink fails (a full disk), or the child would wait for ever on a full pipe.
   */
  async #run(sink: (chunk: Uint8Array) => void | Promise<void>): Promise<void> {
    for (let buffer = new Uint8Array(FIRST_READ_BYTES);;) {
      const { done, value } = await this.#reader.read(buffer);
      if (done) return;
      const grows = value.length === value.buffer.byteLength && value.length < READ_BYTES;
      // The same memory: a step may print for days.
      buffer = grows ? new Uint8Array(READ_BYTES) : new Uint8Array(value.buffer);
      if (this.#failure !== undefined) continue;
      try {
        await sink(value);
      } catch (error) {
        this.#failure = { error };
      }
    }
  }

  async finish(withinMs: number, clock: Clock): Promise<void> {
    if (!this.#over) {
      const patience = new AbortController();
      await Promise.race([this.#done, clock.pause(withinMs, patience.signal)]);
      patience.abort();
      await this.#reader.cancel().catch(() => {});
      await this.#done;
    }
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
