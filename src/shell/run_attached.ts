/**
 * A program that has the terminal of the person to itself until it ends, such as an editor: in the
 * process group and the environment of this process.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { AppError, messageOf } from "../base/errors.ts";
import { personsEnvironment } from "./persons_environment.ts";

/** What to run. */
export interface AttachedRun {
  /** What it is, for messages: `the editor`. */
  readonly what: string;
  /** A shell line. */
  readonly line: string;
  /** `$1`, `$2`, … of the line. */
  readonly args: readonly string[];
  /** Its directory; that of this process when absent. */
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string>>;
  /** Ends the program. */
  readonly signal: AbortSignal;
}

/**
 * Runs it to its end; gives its exit code.
 *
 * @throws {AppError} `invalid` when no process can be started at all.
 */
export async function runAttached({ signal, ...run }: AttachedRun): Promise<number> {
  const child = spawn(run);
  const end = () => {
    try {
      child.kill("SIGTERM");
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

function spawn({ what, line, args, cwd, env }: Omit<AttachedRun, "signal">): Deno.ChildProcess {
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
