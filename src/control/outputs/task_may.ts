/**
 * `github may`: what a task may do at GitHub, and what is left of it.
 *
 * @module
 */

import type { TaskMay } from "../../api/may_operations.ts";
import type { Caller } from "../../auth/caller.ts";
import { AppError } from "../../base/errors.ts";
import type { Connection } from "../../connections/find_connection.ts";
import { addressOf, type AnswerAddress } from "../../outbox/answer_drafts.ts";
import type { AnswerSources } from "../../outbox/origin.ts";
import {
  declaredLimits,
  findRefusal,
  type OutputAsked,
  type OutputLimits,
} from "../../outputs/may_rules.ts";
import type { Task } from "../../store/task_records.ts";
import type { OutboxStore } from "../../store/outbox_store.ts";
import { findTask } from "../records/records.ts";
import { outputAsked } from "./output_asked.ts";

/** The sources of what a task may do. */
export interface MayHost extends AnswerSources {
  readonly store: AnswerSources["store"] & Pick<OutboxStore, "listOutputs">;
  readonly directories: { readonly startOf: (directory: string) => string | undefined };
}

/**
 * What a caller may ask of a task.
 *
 * @throws {AppError} `not_found`.
 */
export async function taskMay(id: string, caller: Caller, host: MayHost): Promise<TaskMay> {
  const task = await findTask(id, host.store);
  const used = await host.store.listOutputs(task.id);
  const bare = await outputAsked(task, { forge: "github", caller }, host.store);
  const address = await findAddress(task, host);
  const connection = address &&
    host.catalog.find<Connection["spec"]>("Connection", task.project, address.connection);
  const asked: OutputAsked = { ...bare, connection };
  const may = bare.plan?.may;
  const all = declaredLimits(may, "github").map(({ output, limits }) => ({
    output,
    ...left(limits, used.get(output) ?? []),
    why: findRefusal(output, asked),
  }));
  return {
    task_id: task.id,
    workflow: task.workflow,
    step: bare.step ?? null,
    declared: may !== undefined,
    connection: connection?.name ?? null,
    repository: address?.subject.repository ?? may?.github?.pull?.repository ??
      may?.github?.issue?.repository ?? null,
    start: task.directory === "" ? null : host.directories.startOf(task.directory) ?? null,
    outputs: all.flatMap(({ why, ...one }) => why === undefined ? [one] : []),
    refused: all.flatMap(({ output, why }) => why === undefined ? [] : [{ output, why }]),
  };
}

function left({ max, hold }: OutputLimits, used: readonly string[]) {
  return {
    max: max ?? null,
    used,
    left: max === undefined ? null : Math.max(0, max - used.length),
    hold,
  };
}

/** Where the answers of a task go; `undefined` where they have no place. */
async function findAddress(task: Task, host: MayHost): Promise<AnswerAddress | undefined> {
  try {
    return await addressOf(task, "github", host);
  } catch (error) {
    if (error instanceof AppError && error.code === "refused") return undefined;
    throw error;
  }
}
