/**
 * The limits that a task counts against until it ends: that of its group and that of its workspace.
 *
 * @module
 */

import { equalBytes } from "../../base/bytes.ts";
import { defined } from "../../base/defined.ts";
import type { NewTask } from "../task_records.ts";
import { groupDigest } from "./keys.ts";

/** The tasks of one trigger and key that share the limit of `concurrency`. */
export interface GroupLimit {
  readonly digest: Uint8Array;
  /** Most tasks of the group under way at once. */
  readonly max: number;
}

/** A workspace with the limit of a task in it. */
export interface WorkspaceLimit {
  readonly project: string;
  readonly name: string;
  /** Most tasks under way in it at once; any number when absent. */
  readonly max?: number;
}

/** The limits that one task counts against. */
export interface TaskLimits {
  /** Absent when the task belongs to no group. */
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
    workspace: { project, name, ...defined({ max: workspaceMax }) },
  };
}

/** Whether a task whose limits change from one to the other keeps the room it has. */
export function sameLimits(a: TaskLimits, b: TaskLimits): boolean {
  return sameGroup(a.group, b.group) && a.workspace.project === b.workspace.project &&
    a.workspace.name === b.workspace.name && a.workspace.max === b.workspace.max;
}

function sameGroup(a: GroupLimit | undefined, b: GroupLimit | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.max === b.max && equalBytes(a.digest, b.digest);
}
