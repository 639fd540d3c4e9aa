/**
 * Opens a file in the browser of the person at the terminal, without waiting for the browser to end.
 *
 * @module
 */

import { AppError, messageOf } from "../base/errors.ts";
import { personsEnvironment } from "./persons_environment.ts";

/** Starts the first program in `$BROWSER`, else the opener of the desktop (`$2`). */
const LINE = 'first=${BROWSER%%:*}; exec ${first:-$2} "$1"';

/**
 * Starts the browser, in a session of its own, so that Ctrl-C at the terminal does not end it.
 *
 * @throws {AppError} `invalid` when no process can be started.
 */
export function openFile(path: string, env: Readonly<Record<string, string>>): void {
  const opener = Deno.build.os === "darwin" ? "open" : "xdg-open";
  try {
    new Deno.Command("/bin/sh", {
      args: ["-c", LINE, "sh", path, opener],
      cwd: "/",
      clearEnv: true,
      env: personsEnvironment(env),
      stdin: "null",
      stdout: "null",
      stderr: "null",
      detached: true,
    }).spawn().unref();
  } catch (cause) {
    throw new AppError("invalid", `Cannot start a browser: ${messageOf(cause)}`, { cause });
  }
}
