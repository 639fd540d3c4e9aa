/**
 * The operations on sandboxes of steps.
 *
 * @module
 */

import Type from "typebox";
import { defineOperation, json, lines, OPTIONAL_TEXT, PROJECT, TEXT } from "./operation.ts";
import type { SandboxFault } from "./status_operations.ts";

/** A path that a Sandbox names. */
export interface SandboxPath {
  /** As it is written. */
  readonly written: string;
  /** Absolute. */
  readonly path: string;
  readonly access: "read" | "write";
  readonly exists: boolean;
  /** Why no step can have it, so that every step in this sandbox fails; `null` if it can be had. */
  readonly refused: string | null;
}

/** An API that a step reaches with a key which svc adds. */
export interface InjectedApi {
  readonly url: string;
  /** The variable that has its address inside. */
  readonly env: string;
  /** The headers that svc sets. */
  readonly headers: readonly string[];
  /** The paths that may be used; `null` for all. */
  readonly paths: readonly string[] | null;
}

/** The rules of a sandbox that are the same on every machine. */
export interface SandboxRules {
  readonly network: {
    readonly mode: "none" | "all" | "rules";
    /** Hosts as they are written; empty without rules. */
    readonly allow: readonly string[];
    readonly inject: readonly InjectedApi[];
  };
  readonly limits: {
    /** As it is written. */
    readonly memory: string | number | null;
    /** Processes and threads together. */
    readonly pids: number | null;
    readonly cpu: number | null;
  };
  /** Whether programs may make sandboxes of their own. */
  readonly nested: boolean;
  /** Whether a step can call svc, with the rights of its run, or of those only what concerns its task. */
  readonly control: boolean | "task";
}

/** What can be read, written and reached in a sandbox. */
export interface SandboxView extends SandboxRules {
  /** `null` for the one that steps have if nothing is said. */
  readonly name: string | null;
  readonly project: string;
  /** Why this machine cannot make it, and what helps; `null` if it can. */
  readonly fault: SandboxFault | null;
  /** Programs and settings of the machine, for reading. */
  readonly machine: readonly string[];
  /** What the Sandbox adds. */
  readonly paths: readonly SandboxPath[];
  /** The home directory, in memory. */
  readonly home: string;
  /** The other directories in memory. */
  readonly scratch: readonly string[];
  /** Bytes that each directory in memory takes at most. */
  readonly scratch_bytes: number;
  readonly limits: SandboxRules["limits"] & {
    /** Why they cannot be enforced here, so that every step in this sandbox fails. */
    readonly fault: SandboxFault | null;
  };
  /** What is not there: the data directory, the control socket, the home of the daemon's user. */
  readonly absent: {
    readonly data_dir: string;
    readonly socket: string;
    /** Empty for a user without one. */
    readonly home: string;
  };
}

/** The first line of a try: what the caller is to run, and what it should know. */
export interface TryStart {
  readonly run: {
    /** For `/bin/sh -c`. */
    readonly line: string;
    /** `$1`, `$2`, … of the line. */
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    /** The file in which bubblewrap reports; it is removed with the end of the stream. */
    readonly status: string;
  };
  /** In what the try differs from a step. */
  readonly notes: readonly string[];
}

/** A line of a try after the first. */
export interface TryLine {
  /** What was refused on the network since the last line. */
  readonly refused: readonly string[];
}

const SANDBOX = { name: OPTIONAL_TEXT, project: PROJECT };

/** The operations on sandboxes, by name. */
export const SANDBOX_OPERATIONS = {
  "sandbox.show": defineOperation({
    summary: "Shows what a step can read, write and reach in a Sandbox, or in the default one",
    input: SANDBOX,
    output: json<SandboxView>(),
    role: "read_only",
  }),
  "sandbox.try": defineOperation({
    summary:
      "Holds a sandbox ready in which the caller runs a command: a `TryStart`, then `TryLine`s",
    input: {
      ...SANDBOX,
      command: Type.Array(TEXT, { minItems: 1, maxItems: 10_000 }),
      /** Absolute; or instead a Workspace. */
      directory: OPTIONAL_TEXT,
      workspace: OPTIONAL_TEXT,
    },
    // with the environment of steps, and a way to the APIs whose keys svc adds: for admins
    output: lines<TryStart | TryLine>(),
  }),
};
