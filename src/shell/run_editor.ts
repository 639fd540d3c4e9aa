/**
 * The editor of the person at the terminal: it has the terminal to itself until it ends, in the
 * process group and the environment of this process.
 *
 * @module
 */

import { AppError, messageOf } from "../base/errors.ts";
import { personsEnvironment } from "./persons_environment.ts";

/** What to open, and with what. */
export interface EditorRun {
  /** A shell line to which the path is added, such as `vi` or `code --wait`. */
  readonly editor: string;
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
  /** Ends the editor. */
  readonly signal: AbortSignal;
}

/**
 * Opens a file in an editor; gives the editor's exit code.
 *
 * @throws {AppError} `invalid` when no process can be started at all.
 */
export async function runEditor({ signal, ...run }: EditorRun): Promise<number> {
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

function spawn({ editor, path, env }: Omit<EditorRun, "signal">): Deno.ChildProcess {
  try {
    return new Deno.Command("/bin/sh", {
      args: ["-c", `${editor} "$1"`, "sh", path],
      clearEnv: true,
      env: personsEnvironment(env),
      stdin: "inherit",
      stdout: "inherit",
      stderr: "inherit",
    }).spawn();
  } catch (cause) {
    throw new AppError("invalid", `Cannot start the editor: ${messageOf(cause)}`, { cause });
  }
}
