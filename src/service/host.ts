/**
 * The machine on which svc is to be a service, handed in: tests have a machine of their own.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { ProgramAnswer, ProgramLine } from "../shell/ask_program.ts";

/** The machine, and this process. */
export interface ServiceHost {
  readonly os: typeof Deno.build.os;
  /** The user of this process. */
  readonly uid: number;
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
  /** Path of this program; `undefined` where it runs from its sources. */
  readonly program: string | undefined;
  /** What stands before every path of the machine: nothing, but in tests. */
  readonly root: string;
  /** Runs a program of the machine to its end. */
  readonly run: (line: ProgramLine, input?: string) => Promise<ProgramAnswer>;
}

/** Whether a service is the system's, or that of the user of this process. */
export type Scope = "system" | "user";

/** The text of a file of the machine; `undefined` where it is not there, or cannot be read. */
export async function findFile(host: ServiceHost, path: string): Promise<string | undefined> {
  return await Deno.readTextFile(host.root + path).catch(() => undefined);
}

/** What is at a path of the machine; `undefined` where nothing is, or it cannot be looked at. */
export async function findAt(host: ServiceHost, path: string): Promise<Deno.FileInfo | undefined> {
  return await Deno.stat(host.root + path).catch(() => undefined);
}

/**
 * The home directory of the user.
 *
 * @throws {AppError} `usage` when it is not known.
 */
export function homeOf(host: ServiceHost): string {
  const home = host.env("HOME");
  if (home) return home;
  throw new AppError("usage", "HOME is not set: svc needs it to find the files of your services");
}
