/**
 * The door to processes: runs one shell line in a process group of its own, with a clean
 * environment, streamed output and a timeout, and leaves no process of the group behind. Policies
 * and tasks are handled elsewhere. Text from outside gets in by environment, argument or standard
 * input only.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { AppError, findNotNow, messageOf } from "../base/errors.ts";
import type { Clock } from "../base/clock.ts";
import type { ProcessGroups } from "./process_groups.ts";

/** Stream that output came from. */
export type OutputStream = "out" | "err";

/** What to run. */
export interface ShellCommand {
  /** Passed to `/bin/sh -c` unchanged. */
  readonly line: string;
  /** Whether the shell ends at the first command that fails (`-e`). */
  readonly stopOnError?: boolean;
  /** `$1`, `$2`, … of the line. */
  readonly args?: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Standard input; empty when absent. */
  readonly stdin?: Uint8Array;
  /**
   * Work that has to be done before the line may run, such as storing a record. It starts as soon
   * as the shell has been spawned, which then waits for it. When it fails, or this process ends
   * before, nothing of the line runs.
   */
  readonly before?: () => Promise<void>;
  /** File mode mask of the child. */
  readonly umask: number;
  /** Ends the group this long after the line was allowed to run; never when absent. */
  readonly timeoutMs?: number;
  /** Time of the group between TERM and KILL. */
  readonly graceMs: number;
  /** Ends the group when it aborts. */
  readonly signal?: AbortSignal;
  /** Receives output in order. Reading waits for it, and then reuses the memory of the chunk. */
  readonly onOutput: (stream: OutputStream, chunk: Uint8Array) => void | Promise<void>;
  /** Called with the process group as soon as it exists. */
  readonly onStart?: (group: number) => void;
  /**
   * Takes over the wait for what the line may have left behind, where its output has ended without
   * that: `gone` resolves when no process of the group is left. A line that was ended early is
   * waited for in any case.
   */
  readonly onLeft?: (gone: Promise<void>) => void;
}

/** What shell lines are run with. */
export interface ShellHost {
  /** Ends their leftover processes. */
  readonly groups: ProcessGroups;
  /** Measures their timeouts. */
  readonly clock: Clock;
}

/** How a shell line ended. */
export interface ShellExit {
  /** Exit status; 128 + signal number when a signal ended the shell. */
  readonly code: number;
  /** Name of the signal that ended the shell, such as `SIGKILL`. */
  readonly killedBy?: string;
  /** Cause for which the group was ended early; absent otherwise. */
  readonly endedFor?: "timeout" | "signal";
}

/** Largest read; a process that prints little never gets a buffer of that size. */
const READ_BYTES = 64 * 1024;
const FIRST_READ_BYTES = 4 * 1024;

/**
 * Time for output to arrive after the group is gone, because a process that left it may hold the
 * pipe.
 */
const DRAIN_MS = 1000;

/** Time for background children to end after the shell line itself has ended. */
const LEFTOVER_GRACE_MS = 1000;

/** Longest pause before a process that survived a signal is signalled again. */
const MAX_STEP_MS = 1000;

/**
 * Makes the shell wait for a first line on standard input. When the run is cancelled instead, the
 * pipe closes and the shell ends. A shell reads no more than that line from a pipe, so the rest is
 * left for the command.
 */
const WAIT = "read -r _ || exit 126; ";

/**
 * A line that consists of the path of a program and plain arguments: it can be started without a
 * shell, which would add a process in dash (measured: 0.2 to 0.35 ms of 3).
 */
const ONE_FILE = /^(?!-)[\w.+,@-]*\/[\w.+,@/-]*(?: +[\w.+,@/:=-]+)*$/;

/**
 * Runs one shell line to its end.
 *
 * @throws {AppError} `invalid` when the process cannot be started at all, `overloaded` when the
 * machine is short of something now; and what `before` threw.
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
  const gone = endLeft(child.pid, groups);
  const onLeft = endedFor === undefined && failure === undefined ? command.onLeft : undefined;
  if (onLeft !== undefined && await isFirst(Promise.all(pumps.map(({ done }) => done)), gone)) {
    onLeft(gone);
  } else {
    await gone;
  }
  await Promise.all(pumps.map((pump) => pump.finish(DRAIN_MS, clock)));
  await feeding;
  if (failure !== undefined) throw failure.error;
  return {
    code: status.code,
    ...(status.signal === null ? {} : { killedBy: status.signal }),
    ...defined({ endedFor }),
  };
}

/** Ends what a line has left behind in its group; resolves when nothing of it is left. */
async function endLeft(group: number, groups: ProcessGroups): Promise<void> {
  if (await groups.alive(group)) await groups.end(group, LEFTOVER_GRACE_MS);
}

/** Whether `one` is over before `other`; fails as the first of them fails. */
function isFirst(one: Promise<unknown>, other: Promise<unknown>): Promise<boolean> {
  return Promise.race([one.then(() => true), other.then(() => false)]);
}

function spawn(command: ShellCommand, setsid: string | undefined): Deno.ChildProcess {
  const { env, locale } = splitLocale(command.env);
  // On the same line, so that line numbers in the shell's messages still start from 1.
  const line = [
    `umask ${command.umask.toString(8).padStart(4, "0")}; `,
    ...locale.map(([name]) => `export ${name}="$1"; shift; `),
    command.before === undefined ? "" : WAIT,
    ONE_FILE.test(command.line) ? "exec " : "",
    command.line,
  ].join("");
  const values = locale.map(([, value]) => value);
  const option = command.stopOnError === true ? "-ec" : "-c";
  const args = [option, line, "sh", ...values, ...command.args ?? []];
  try {
    return new Deno.Command(setsid ?? "/bin/sh", {
      args: setsid === undefined ? args : ["/bin/sh", ...args],
      cwd: command.cwd,
      clearEnv: true,
      env,
      stdin: inputOf(command) === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
      detached: setsid === undefined,
    }).spawn();
  } catch (cause) {
    throw findNotNow(cause) ??
      new AppError("invalid", `Cannot start a process: ${messageOf(cause)}`, { cause });
  }
}

/** Variables that choose a locale. */
const LOCALE = /^(?:LANG|LANGUAGE|LC_[A-Z]+)$/;

/**
 * An environment without its locale, which the shell is given as arguments and sets itself:
 * `setsid` would read a dozen files for it (measured: 0.25 ms of 1.9).
 */
function splitLocale(given: Readonly<Record<string, string>>) {
  const locale = Object.entries(given).filter(([name]) => LOCALE.test(name));
  const env = { ...given };
  for (const [name] of locale) delete env[name];
  return { env, locale };
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

/** Ends a group, even one that is only about to be made and has no process yet. */
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

/** The parts to write to standard input, in order; `undefined` when nothing is needed. */
function inputOf({ stdin, before }: ShellCommand): readonly Uint8Array[] | undefined {
  if (before === undefined) return stdin === undefined ? undefined : [stdin];
  return stdin === undefined ? [LINE_END] : [LINE_END, stdin];
}

/** A child may close its standard input without reading it, which is no error. */
async function feed(
  child: Deno.ChildProcess,
  input: readonly Uint8Array[] | undefined,
): Promise<void> {
  if (input === undefined) return;
  const writer = child.stdin.getWriter();
  for (const part of input) await writer.write(part as Uint8Array<ArrayBuffer>).catch(() => {});
  await writer.close().catch(() => {});
}

/** Reads one stream to its end, or until it is told to stop waiting for it. */
class Pump {
  readonly #reader: ReadableStreamBYOBReader;
  /** Resolves at the end of the stream. */
  readonly done: Promise<void>;
  #failure: { readonly error: unknown } | undefined;
  #over = false;

  constructor(
    stream: ReadableStream<Uint8Array>,
    sink: (chunk: Uint8Array) => void | Promise<void>,
  ) {
    this.#reader = stream.getReader({ mode: "byob" });
    this.done = this.#run(sink).then(() => void (this.#over = true));
  }

  /**
   * Continues reading when the sink fails (a full disk), because a child would block on a full
   * pipe.
   */
  async #run(sink: (chunk: Uint8Array) => void | Promise<void>): Promise<void> {
    for (let buffer = new Uint8Array(FIRST_READ_BYTES);;) {
      const { done, value } = await this.#reader.read(buffer);
      if (done) return;
      const grows = value.length === value.buffer.byteLength && value.length < READ_BYTES;
      // The same buffer each time, because a step may print for days.
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
      await Promise.race([this.done, clock.pause(withinMs, patience.signal)]);
      patience.abort();
      await this.#reader.cancel().catch(() => {});
      await this.done;
    }
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
