/**
 * What keeps services running on this machine: systemd or launchd, for the system or for one user.
 *
 * @module
 */

import type { ProgramLine } from "../shell/ask_program.ts";
import type { Scope } from "./host.ts";
import type { Step, WrittenFile } from "./steps.ts";

/** The service as it is to be. Paths are absolute. */
export interface ServiceOptions {
  /** Path of `svc`. */
  readonly program: string;
  readonly dataDir: string;
  /** Who it runs as; only where it is the system's. */
  readonly user?: string;
  /** Where steps look for programs; the manager's own when absent. */
  readonly path?: string;
  /** Whether it is stricter than every daemon can be; only for systemd's own. */
  readonly hardened?: boolean;
}

/** Who has written the file by which a service is known. */
export type Author = "svc" | "a package" | "somebody else";

/** The service as it is. */
export interface ServiceState {
  /** File by which it is known. */
  readonly file: string;
  readonly author: Author;
  /** Whether it starts with the system, or with the user's session. */
  readonly isEnabled: boolean;
  /** `failed`: it has ended by itself and is not started again; `starting`: it is, again and again. */
  readonly state: "running" | "starting" | "failed" | "stopped";
  /** The daemon's process, while it runs. */
  readonly pid?: number;
  /** Since when it runs, in milliseconds since the epoch, where the manager knows. */
  readonly since?: number;
  /** How often the manager has restarted it, if the manager knows. */
  readonly restarts: number;
  /** Path of the program, the data directory, and who it runs as, where the file says them. */
  readonly program?: string;
  readonly dataDir?: string;
  readonly user?: string;
}

/** A service manager, as the commands of `svc service` use it. */
export interface ServiceManager {
  readonly scope: Scope;
  /** What it calls the service. */
  readonly service: string;
  /** Path of the file that svc writes. */
  readonly file: string;
  /** That file, and others beside it. */
  readonly files: (options: ServiceOptions) => readonly WrittenFile[];
  /**
   * How the service is; `undefined` where it knows none.
   *
   * @throws {AppError} `refused` when it cannot be asked.
   */
  readonly look: () => Promise<ServiceState | undefined>;
  /** What comes before its first start: its user, its directories. */
  readonly prepare: (options: ServiceOptions) => Promise<readonly Step[]>;
  /** Has a changed file take effect: the service is enabled and runs, by that file. */
  readonly apply: (now: ServiceState | undefined) => readonly Step[];
  /** Has it run, and start with the system or session, by the file as it was. */
  readonly start: readonly Step[];
  /** Ends it and lets it start anew. */
  readonly restart: readonly Step[];
  /** Ends it, and takes away all that was written for it. */
  readonly remove: () => Promise<readonly Step[]>;
  /** What shows its log. */
  readonly logs: (how: { readonly lines: number; readonly follow: boolean }) => ProgramLine;
  /** What a person should know about this service, as warnings. */
  readonly warnings: () => Promise<readonly string[]>;
}
