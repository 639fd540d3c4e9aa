/**
 * Opens a file in the browser of the person at the terminal, and does not wait for it.
 *
 * @module
 */

import { AppError, messageOf } from "../base/errors.ts";
import { personsEnvironment } from "./persons_environment.ts";

/** `$BROWSER`, of several the first, else what the desktop has for such files. */
const LINE = 'first=${BROWSER%%:*}; exec ${first:-$2} "$1"';

/**
 * Starts the browser. It has a session of its own: Ctrl-C at the terminal does not end it.
 *
 * @throws {AppError} `invalid` when no process can be started at all.
 */
export function openFile(path: string, env: Readonly<Record<string, string>>): void {
  const desktops = Deno.build.os === "darwin" ? "open" : "xdg-open";
  try {
    new Deno.Command("/bin/sh", {
      args: ["-c", LINE, "sh", path, desktops],
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
