/**
 * The door to processes: runs one shell line in a process group of its own, with a clean environment,
 * streamed output and a timeout, and leaves no process of the group behind. It knows no policies and no
 * tasks. Text from outside reaches the line only by environment, argument or standard input.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { AppError, findNotNow, messageOf } from "../base/errors.ts";
import type { Clock } from "../base/clock.ts";
import type { ProcessGroups } from "./process_groups.ts";

/** The stream of some output. */
export type OutputStream = "out" | "err";

/** A shell line, and how it runs. */
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
   * Work that has to be done before the line may run, such as storing a record. It begins when the shell
   * has been spawned, and the shell waits for it. If it fails, or svc ends meanwhile, nothing of the line
   * runs.
   */
  readonly before?: () => Promise<void>;
  /** File mode mask of the child. */
  readonly umask: number;
  /** Time from the start of the line after which the group is ended; never when absent. */
  readonly timeoutMs?: number;
  /** Time of the group between TERM and KILL. */
  readonly graceMs: number;
  /** Ends the group when it aborts. */
  readonly signal?: AbortSignal;
  /** Receives output in its order. The next read waits for it, and reuses the memory of the chunk. */
  readonly onOutput: (stream: OutputStream, chunk: Uint8Array) => void | Promise<void>;
  /** Called with the process group as soon as it exists. */
  readonly onStart?: (group: number) => void;
  /**
   * Takes over the wait for processes that the line has left behind, if its output has ended before
   * theirs: `gone` resolves when no process of the group is left. A line that was ended early is always
   * waited for.
   */
  readonly onLeft?: (gone: Promise<void>) => void;
}

/** How a shell line ended. */
export interface ShellExit {
  /** Exit status; 128 + signal number when a signal ended the shell. */
  readonly code: number;
  /** Name of the signal that ended the shell, such as `SIGKILL`. */
  readonly killedBy?: string;
  /** Why the group was ended early; absent if it was not. */
  readonly endedFor?: "timeout" | "signal";
}

/** Size of the largest buffer, which only a process gets that prints much. */
const READ_BYTES = 64 * 1024;
const FIRST_READ_BYTES = 4 * 1024;

/** Time for output after the group is gone: a process that has left the group may keep the pipe open. */
const DRAIN_MS = 1000;

/** Time between TERM and KILL for background processes, when the shell line itself has ended. */
const LEFTOVER_GRACE_MS = 1000;

/** Longest pause before processes that survived a signal are signalled again. */
const MAX_STEP_MS = 1000;

/**
 * Makes the shell wait for a first line on standard input. If the pipe closes instead, the shell ends.
 * A shell reads no more than that line from a pipe, so the rest is left for the command.
 */
const WAIT = "read -r _ || exit 126; ";

/**
 * A line that consists of the path of a program and plain arguments. The shell can replace itself by the
 * program, which saves a process in dash (measured: 0.2 to 0.35 ms of 3).
 */
const ONE_FILE = /^(?!-)[\w.+,@-]*\/[\w.+,@/-]*(?: +[\w.+,@/:=-]+)*$/;

/**
 * Runs one shell line to its end.
 *
 * @throws {AppError} `invalid` when the process cannot be started, `overloaded` when the
 * machine is short of something now; and what `before` threw.
 */
export async function runShell(
  command: ShellCommand,
  { groups, clock }: { readonly groups: ProcessGroups; readonly clock: Clock },
): Promise<ShellExit> {
  const child = spawn(command, groups.setsid);
  command.onStart?.(child.pid);
  const pumps = [
    new Pump(child.stdout, (chunk) => command.onOutput("out", chunk)),
    new Pump(child.stderr, (chunk) => command.onOutput("err", chunk)),
  ];
  const failure = await command.before?.().then(() => undefined, (error) => ({ error }));
  const feeding = feed(child, failure === undefined ? inputOf(command) : []);
  const endedFor = await untilOver(child, command, groups, clock);
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
    ...defined({ killedBy: status.signal ?? undefined, endedFor }),
  };
}

/** Ends processes that a line has left behind in its group; resolves when none is left. */
async function endLeft(group: number, groups: ProcessGroups): Promise<void> {
  if (await groups.alive(group)) await groups.end(group, LEFTOVER_GRACE_MS);
}

/** Whether `one` resolves before `other`; rejects if the first of them to settle rejects. */
function isFirst(one: Promise<unknown>, other: Promise<unknown>): Promise<boolean> {
  return Promise.race([one.then(() => true), other.then(() => false)]);
}

function spawn(command: ShellCommand, setsid: string | undefined): Deno.ChildProcess {
  const { env, locale } = splitLocale(command.env);
  // On one line, so that line numbers in the shell's messages are those of the command.
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
 * Separates the locale from an environment. The shell gets it as arguments and sets it itself, because
 * with it `setsid` would read a dozen files (measured: 0.25 ms of 1.9).
 */
function splitLocale(given: Readonly<Record<string, string>>) {
  const locale = Object.entries(given).filter(([name]) => LOCALE.test(name));
  const env = { ...given };
  for (const [name] of locale) delete env[name];
  return { env, locale };
}

/** Waits for the shell to end; ends its group on a timeout or when `signal` aborts. */
async function untilOver(
  child: Deno.ChildProcess,
  command: ShellCommand,
  groups: ProcessGroups,
  clock: Clock,
): Promise<ShellExit["endedFor"]> {
  const { promise: stop, resolve: stopFor } = Promise.withResolvers<"timeout" | "signal">();
  const onAbort = () => stopFor("signal");
  using _timer = command.timeoutMs === undefined
    ? undefined
    : clock.after(command.timeoutMs, () => stopFor("timeout"));
  command.signal?.addEventListener("abort", onAbort);
  if (command.signal?.aborted === true) onAbort();
  try {
    const over = child.status.then(() => undefined);
    const why = await Promise.race([over, stop]);
    if (why !== undefined) await endChild(child, command.graceMs, groups, clock);
    return why;
  } finally {
    command.signal?.removeEventListener("abort", onAbort);
  }
}

/** Ends a group, also one that is only about to be made and has no process yet. */
async function endChild(
  child: Deno.ChildProcess,
  graceMs: number,
  groups: ProcessGroups,
  clock: Clock,
): Promise<void> {
  const over = new AbortController();
  child.status.then(() => over.abort());
  for (let step = 5; !over.signal.aborted; step = Math.min(step * 2, MAX_STEP_MS)) {
    await groups.end(child.pid, graceMs);
    await clock.pause(step, over.signal);
  }
}

const LINE_END = new Uint8Array([0x0a]);

/** The parts to write to standard input, in their order; `undefined` for no standard input. */
function inputOf({ stdin, before }: ShellCommand): readonly Uint8Array[] | undefined {
  if (before === undefined) return stdin === undefined ? undefined : [stdin];
  return stdin === undefined ? [LINE_END] : [LINE_END, stdin];
}

/** Writes standard input; a child may close it without reading it, which is no error. */
async function feed(
  child: Deno.ChildProcess,
  input: readonly Uint8Array[] | undefined,
): Promise<void> {
  if (input === undefined) return;
  const writer = child.stdin.getWriter();
  for (const part of input) await writer.write(part as Uint8Array<ArrayBuffer>).catch(() => {});
  await writer.close().catch(() => {});
}

/** Reads one stream to its end, or until {@linkcode finish} stops to wait for it. */
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

  /** Goes on to read when the sink fails (a full disk), because the child would block on a full pipe. */
  async #run(sink: (chunk: Uint8Array) => void | Promise<void>): Promise<void> {
    for (let buffer = new Uint8Array(FIRST_READ_BYTES);;) {
      const { done, value } = await this.#reader.read(buffer);
      if (done) return;
      const grows = value.length === value.buffer.byteLength && value.length < READ_BYTES;
      // The same buffer for each read, because a step may print for days.
      buffer = grows ? new Uint8Array(READ_BYTES) : new Uint8Array(value.buffer);
      if (this.#failure !== undefined) continue;
      try {
        await sink(value);
      } catch (error) {
        this.#failure = { error };
      }
    }
  }

  /** Waits for the end of the stream, for some time; throws the error of the sink. */
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
