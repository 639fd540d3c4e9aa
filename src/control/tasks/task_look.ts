/**
 * `task look`: what a task is about, for an agent in one of its steps. The goal and the event lie in
 * files of the step.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import { AppError } from "../../base/errors.ts";
import type { ForgeSubject } from "../../connections/api/forge.ts";
import { findSubject } from "../../connections/forges.ts";
import { findOrigin, type OriginStore } from "../../outbox/origin.ts";
import type { Task } from "../../store/task_records.ts";
import { findTask } from "../records/records.ts";

/**
 * The task, and its subject at a forge.
 *
 * @throws {AppError} `not_found`.
 */
export async function lookAtTask(
  { task: id }: Input<"task.look">,
  { store }: { readonly store: OriginStore },
): Promise<Output<"task.look">> {
  const task = await findTask(id, store);
  const { project, trigger, workflow } = task;
  const found = await subjectOf(task, store);
  const subject = found === undefined
    ? null
    : { repository: found.repository, number: found.number ?? null };
  return { id: task.id, project, trigger, workflow, subject };
}

/** The subject to which svc would answer; `undefined` if there is none, or nothing checked who sent it. */
async function subjectOf(task: Task, store: OriginStore): Promise<ForgeSubject | undefined> {
  try {
    return (await findOrigin(task, findSubject, store))?.found;
  } catch (error) {
    if (error instanceof AppError && error.code === "refused") return undefined;
    throw error;
  }
}
