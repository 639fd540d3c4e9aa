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
import { findPooledScript } from "./pooled_script.ts";
import type { PooledShell } from "./pooled_shell.ts";
import type { ProcessGroups } from "./process_groups.ts";
import { Pump } from "./pump.ts";
import { ONE_FILE, type ShellLine } from "./shell_line.ts";

/** The stream of some output. */
export type OutputStream = "out" | "err";

/** A shell line, and how it runs. */
export interface ShellCommand extends ShellLine {
  /**
   * Name of the pool whose lines may share a shell, one after another. What a line has left behind out
   * of reach may print into a later one, so they are runs of the same definition. Absent: a shell of
   * its own.
   */
  readonly pool?: string;
  /**
   * Work that has to be done before the line may run, such as storing a record. It begins when there is
   * a shell, which waits for it. If it fails, or svc ends meanwhile, nothing of the line runs.
   */
  readonly before?: () => Promise<void>;
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
  /** Called if that group could not start the line, before another one is tried. */
  readonly onNotStarted?: () => void;
  /**
   * Takes over the wait for processes that the line has left behind, if its output has ended before
   * theirs: `gone` resolves when no process of the group is left. A line that was ended early is always
   * waited for.
   */
  readonly onLeft?: (gone: Promise<void>) => void;
}

/** What runs shell lines. */
export interface ShellHost {
  readonly groups: ProcessGroups;
  readonly clock: Clock;
}

/** How a shell line ended. */
export interface ShellExit {
  /** Exit status; 128 + signal number when a signal ended the shell. */
  readonly code: number;
  /** Name of the signal that ended the shell, such as `SIGKILL`. */
  readonly killedBy?: string;
  /** Why the group was ended early; absent if it was not. */
  readonly endedFor?: "timeout" | "signal";
  /** Whether no process of the line can be left, not even outside its group; absent if nothing is known. */
  readonly leftNothing?: boolean;
}

/** Time for output after the group is gone: a process that has left the group may keep the pipe open. */
const DRAIN_MS = 1000;

/** Longest pause before processes that survived a signal are signalled again. */
const MAX_STEP_MS = 1000;

/**
 * Makes the shell wait for a first line on standard input. If the pipe closes instead, the shell ends.
 * A shell reads no more than that line from a pipe, so the rest is left for the command.
 */
const WAIT = "read -r _ || exit 126; ";

/**
 * Runs one shell line to its end.
 *
 * @throws {AppError} `invalid` when the process cannot be started, `overloaded` when the
 * machine is short of something now; and what `before` threw.
 */
export async function runShell(command: ShellCommand, host: ShellHost): Promise<ShellExit> {
  const pooled = findPooled(command, host.groups);
  if (pooled === undefined) return await runAlone(command, host);
  const exit = await runPooled(command, pooled, host);
  if (exit !== undefined) return exit;
  command.onNotStarted?.();
  const { before: _, ...rest } = command; // is done
  return await runAlone(rest, host);
}

/** Runs a line in a shell of its own. */
async function runAlone(command: ShellCommand, { groups, clock }: ShellHost): Promise<ShellExit> {
  const child = spawn(command, groups.setsid);
  command.onStart?.(child.pid);
  const pumps = [
    new Pump(child.stdout, (chunk) => command.onOutput("out", chunk)),
    new Pump(child.stderr, (chunk) => command.onOutput("err", chunk)),
  ];
  const failure = await command.before?.().then(() => undefined, (error) => ({ error }));
  const feeding = feed(child, failure === undefined ? inputOf(command) : []);
  const line = { group: child.pid, over: child.status };
  const endedFor = await untilOver(line, command, groups, clock);
  const { code, signal } = await child.status;
  const onLeft = endedFor === undefined && failure === undefined ? command.onLeft : undefined;
  await untilLeft(pumps, groups.endLeft(child.pid), { onLeft, clock });
  await feeding;
  if (failure !== undefined) throw failure.error;
  return { code, ...defined({ killedBy: signal ?? undefined, endedFor }) };
}

/** A pooled shell, and what it is to run. */
interface PooledLine {
  readonly pool: string;
  readonly shell: PooledShell;
  readonly script: string;
}

/** A pooled shell for this line, where there is one and the line suits it. */
function findPooled(command: ShellCommand, { shells }: ProcessGroups): PooledLine | undefined {
  const { pool } = command;
  if (pool === undefined) return undefined;
  const script = findPooledScript(command);
  const shell = script === undefined ? undefined : shells.take(pool);
  return script === undefined || shell === undefined ? undefined : { pool, shell, script };
}

/** Runs a line in a pooled shell; `undefined` if it could not be started there, and nothing of it ran. */
async function runPooled(
  command: ShellCommand,
  { pool, shell, script }: PooledLine,
  { groups, clock }: ShellHost,
): Promise<ShellExit | undefined> {
  const { group } = shell;
  command.onStart?.(group);
  try {
    await command.before?.();
  } catch (error) {
    groups.shells.put(pool, shell);
    throw error;
  }
  if (command.signal?.aborted === true) {
    groups.shells.put(pool, shell);
    return { code: 143, killedBy: "SIGTERM", endedFor: "signal" };
  }
  const over = shell.run(script, {
    out: (chunk) => command.onOutput("out", chunk),
    err: (chunk) => command.onOutput("err", chunk),
  });
  const onStop = () => shell.close(); // or the group would never be empty
  const endedFor = await untilOver({ group, over, onStop }, command, groups, clock);
  const end = await over;
  const { code } = end;
  let killedBy: string | undefined = end.signal;
  if (end.isReusable && endedFor === undefined) {
    try {
      killedBy = await shell.release(end);
    } finally {
      groups.shells.put(pool, shell); // only now: the next line begins the streams anew
    }
  } else {
    shell.close();
    const gone = shell.ended.then(() => groups.endLeft(group));
    const onLeft = endedFor === undefined ? command.onLeft : undefined;
    await untilLeft(shell.pumps, gone, { onLeft, clock });
    killedBy = await shell.release(end) ?? killedBy;
  }
  const leftNothing = end.leftNothing && endedFor === undefined;
  return code === undefined ? undefined : { code, ...defined({ killedBy, endedFor, leftNothing }) };
}

/** Waits until what a line has left behind is `gone`, and for the end of its output. */
async function untilLeft(
  pumps: readonly Pump[],
  gone: Promise<void>,
  { onLeft, clock }: { readonly onLeft: ShellCommand["onLeft"]; readonly clock: Clock },
): Promise<void> {
  if (onLeft !== undefined && await isFirst(Promise.all(pumps.map(({ done }) => done)), gone)) {
    onLeft(gone);
  } else {
    await gone;
  }
  await Promise.all(pumps.map((pump) => pump.finish(DRAIN_MS, clock)));
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

/** A line that runs. */
interface RunningLine {
  readonly group: number;
  /** Resolves when the line is over. */
  readonly over: Promise<unknown>;
  /** Called before the group is ended early. */
  readonly onStop?: () => void;
}

/** Waits for a line to end; ends its group on a timeout or when `signal` aborts. */
async function untilOver(
  line: RunningLine,
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
    const why = await Promise.race([line.over.then(() => undefined), stop]);
    if (why !== undefined) {
      line.onStop?.();
      await endEarly(line, command.graceMs, groups, clock);
    }
    return why;
  } finally {
    command.signal?.removeEventListener("abort", onAbort);
  }
}

/** Ends a group, also one that is only about to be made and has no process yet. */
async function endEarly(
  line: RunningLine,
  graceMs: number,
  groups: ProcessGroups,
  clock: Clock,
): Promise<void> {
  const over = new AbortController();
  line.over.then(() => over.abort());
  for (let step = 5; !over.signal.aborted; step = Math.min(step * 2, MAX_STEP_MS)) {
    await groups.end(line.group, graceMs);
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
