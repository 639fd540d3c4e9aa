/**
 * The needs of resources on the machine that runs their tasks, such as a program or a directory;
 * `tasks/workspace/machine.ts` checks whether the machine meets them.
 *
 * @module
 */

import type { FieldPath } from "./resource.ts";

/** The directory of a workspace. */
export interface DirectoryNeed {
  readonly needs: "directory";
  readonly path: string;
  /** Whether it has to be in a git repository with a commit. */
  readonly repository: boolean;
  /** Names or labels of the nodes that need it; all nodes when absent. */
  readonly nodes?: readonly string[];
}

/** A directory whose files are watched. */
export interface WatchedNeed {
  readonly needs: "watched";
  /** Name of the workspace in which it lies. */
  readonly workspace: string;
  /** Its path from there; empty for the workspace itself. */
  readonly below: string;
}

/** A program on the `PATH` of steps. */
export interface ProgramNeed {
  readonly needs: "program";
  readonly name: string;
}

/** The nodes on which tasks of a workspace may run. */
export interface NodesNeed {
  readonly needs: "nodes";
  /** Names or labels, of which one is enough. */
  readonly nodes: readonly string[];
}

/** A sandbox. */
export interface SandboxNeed {
  readonly needs: "sandbox";
  /** Whether its network has rules. */
  readonly rules: boolean;
  /** Whether steps run without it where there can be none. */
  readonly optional: boolean;
}

/** One thing that a task needs before it can start. */
export type MachineNeed =
  & (DirectoryNeed | WatchedNeed | ProgramNeed | NodesNeed | SandboxNeed)
  & {
    readonly at: FieldPath;
  };

/**
 * The need for the program `name`, which the field `at` names. None if its file cannot be known: it
 * lies in the directory of a step, or one of the `env` blocks around it sets `PATH`.
 */
export function needsProgram(
  name: string,
  at: FieldPath,
  envs: readonly (object | undefined)[],
): MachineNeed[] {
  const isLocal = name.includes("/") && !/^(\/|~\/)/.test(name);
  const hasPath = envs.some((env) => env !== undefined && Object.hasOwn(env, "PATH"));
  return isLocal || hasPath ? [] : [{ needs: "program", name, at }];
}
