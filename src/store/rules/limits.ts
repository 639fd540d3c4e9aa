/**
 * The limits a task counts against while it has not ended: that of its group and that of its
 * workspace.
 *
 * @module
 */

import { equalBytes } from "../../base/bytes.ts";
import type { NewTask } from "../task_records.ts";
import { groupDigest } from "./keys.ts";

/** The tasks of one trigger and key that share the limit of `concurrency`. */
export interface GroupLimit {
  readonly digest: Uint8Array;
  /** Tasks of the group that may be under way at once. */
  readonly max: number;
}

/** The workspace of a task. */
export interface WorkspaceLimit {
  readonly project: string;
  readonly name: string;
  /** Tasks that may be under way in it at once; any number when absent. */
  readonly max?: number;
}

/** What a task takes room in. */
export interface TaskLimits {
  /** Its group; it belongs to none when absent. */
  readonly group?: GroupLimit;
  readonly workspace: WorkspaceLimit;
}

/** The limits of a new task. */
export function limitsOf(task: NewTask): TaskLimits {
  const { project, workspace: name, concurrency, workspaceMax } = task;
  const digest = groupDigest(task);
  return {
    ...(digest === undefined || concurrency === undefined
      ? {}
      : { group: { digest, max: concurrency.max } }),
    workspace: { project, name, ...(workspaceMax === undefined ? {} : { max: workspaceMax }) },
  };
}

/** Whether a task that changes from one to the other keeps the room it has. */
export function sameLimits(a: TaskLimits, b: TaskLimits): boolean {
  return sameGroup(a.group, b.group) && a.workspace.project === b.workspace.project &&
    a.workspace.name === b.workspace.name && a.workspace.max === b.workspace.max;
}

function sameGroup(a: GroupLimit | undefined, b: GroupLimit | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.max === b.max && equalBytes(a.digest, b.digest);
}
