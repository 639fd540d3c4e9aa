/**
 * Runs a program for the person at the terminal, such as `systemctl`, and returns its output. No shell
 * interprets its arguments, and it cannot prompt.
 *
 * @module
 */

import { AppError, messageOf } from "../base/errors.ts";
import { personsEnvironment } from "./persons_environment.ts";

/** A program, by its name on the PATH, and its arguments. */
export type ProgramLine = readonly [program: string, ...args: string[]];

/** The output of a program that has ended. */
export interface ProgramAnswer {
  /** Exit code; 127 if there is no such program. */
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/**
 * Runs a program to its end, in English and with times in UTC.
 *
 * @throws {AppError} `invalid` when no process can be started.
 */
export async function askProgram(
  line: ProgramLine,
  env: Readonly<Record<string, string>>,
  input = "",
): Promise<ProgramAnswer> {
  try {
    const child = new Deno.Command("/bin/sh", {
      args: ["-c", 'exec "$@"', "sh", ...line],
      cwd: "/",
      clearEnv: true,
      env: { ...personsEnvironment(env), LC_ALL: "C", TZ: "UTC" },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const [{ code, stdout, stderr }] = await Promise.all([child.output(), feed(child, input)]);
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, out: text(stdout), err: text(stderr) };
  } catch (cause) {
    throw new AppError("invalid", `Cannot start ${line[0]}: ${messageOf(cause)}`, { cause });
  }
}

/** Writes the input; a program may end without reading it. */
async function feed(child: Deno.ChildProcess, input: string): Promise<void> {
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input)).catch(() => {});
  await writer.close().catch(() => {});
}
