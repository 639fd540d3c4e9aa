/**
 * The machine for the commands of `svc service`, and the options that they share.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { Scope, ServiceHost } from "../service/host.ts";
import { lastingPath } from "../service/install.ts";
import { askProgram } from "../shell/ask_program.ts";
import type { Context } from "./command.ts";
import { type OptionDefinition } from "./option.ts";
import type { Io } from "./io.ts";

/** The option that names the service of the system. */
export const SYSTEM = {
  flags: "--system",
  help: "the system's service, which is root's default, not your own user's",
} as const satisfies OptionDefinition;

/** This machine and this process. */
export function serviceHost(io: Io): ServiceHost {
  const uid = Deno.uid() ?? 0;
  const env = io.environment();
  // the address of the user's systemd, for sessions that do not set it
  env["XDG_RUNTIME_DIR"] ||= `/run/user/${uid}`;
  return {
    os: Deno.build.os,
    uid,
    env: (name) => env[name],
    program: Deno.build.standalone ? lastingPath(Deno.execPath()) : undefined,
    root: "",
    run: (line, input) => askProgram(line, env, input),
  };
}

/** The service that the options name. */
export function namedScope(context: Context<[typeof SYSTEM]>): Scope | undefined {
  return context.options.system ? "system" : undefined;
}

/**
 * Refuses what only root may do for the system.
 *
 * @throws {AppError} `forbidden`.
 */
export function refuseUnlessRoot(
  scope: Scope,
  { uid, program = "svc" }: ServiceHost,
  words: string,
): void {
  if (scope === "user" || uid === 0) return;
  throw new AppError(
    "forbidden",
    `Only root can change a system service: sudo ${program} service ${words}`,
  );
}
