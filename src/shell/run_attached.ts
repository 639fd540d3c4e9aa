/**
 * Runs a program that uses the terminal of the person until it ends, such as an editor. It is in the
 * process group of svc and has its environment.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { AppError, messageOf } from "../base/errors.ts";
import { personsEnvironment } from "./persons_environment.ts";

/** A program to run on the terminal. */
export interface AttachedRun {
  /** The words for the program in messages: `the editor`. */
  readonly what: string;
  readonly line: string;
  /** `$1`, `$2`, … of the line. */
  readonly args: readonly string[];
  /** The working directory; that of svc when absent. */
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string>>;
  /** Sent to it when `signal` aborts; SIGTERM when absent. */
  readonly endSignal?: Deno.Signal;
  readonly signal: AbortSignal;
}

/**
 * Runs the program to its end; returns its exit code.
 *
 * @throws {AppError} `invalid` when no process can be started.
 */
export async function runAttached(
  { signal, endSignal = "SIGTERM", ...run }: AttachedRun,
): Promise<number> {
  const child = spawn(run);
  const end = () => {
    try {
      child.kill(endSignal);
    } catch {
      // It has ended by itself.
    }
  };
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  const { code } = await child.status;
  signal.removeEventListener("abort", end);
  return code;
}

function spawn(
  { what, line, args, cwd, env }: Omit<AttachedRun, "signal" | "endSignal">,
): Deno.ChildProcess {
  try {
    return new Deno.Command("/bin/sh", {
      args: ["-c", line, "sh", ...args],
      ...defined({ cwd }),
      clearEnv: true,
      env: personsEnvironment(env),
      stdin: "inherit",
      stdout: "inherit",
      stderr: "inherit",
    }).spawn();
  } catch (cause) {
    throw new AppError("invalid", `Cannot start ${what}: ${messageOf(cause)}`, { cause });
  }
}
