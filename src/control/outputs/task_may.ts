/**
 * `svc github may`, `svc gitlab may`: what a task may do at a forge, and what is left of it.
 *
 * @module
 */

import type { TaskMay } from "../../api/may_operations.ts";
import { AppError } from "../../base/errors.ts";
import { type ForgeName, FORGES } from "../../base/forge_names.ts";
import type { Connection } from "../../connections/find_connection.ts";
import {
  addressOf,
  type AnswerAddress,
  forgeOfTask,
  otherForge,
} from "../../outbox/answer_drafts.ts";
import type { AnswerSources } from "../../outbox/origin.ts";
import {
  declaredLimits,
  findRefusal,
  type MayPlan,
  type OutputAsked,
  type OutputLimits,
} from "../../outputs/may_rules.ts";
import type { May } from "../../resources/may.ts";
import type { Task } from "../../store/task_records.ts";
import type { OutboxStore } from "../../store/outbox_store.ts";
import { findTask } from "../records/records.ts";
import { type AskedOf, outputAsked } from "./output_asked.ts";

/** The sources of what a task may do. */
export interface MayHost extends AnswerSources {
  readonly store: AnswerSources["store"] & Pick<OutboxStore, "listOutputs">;
  readonly directories: { readonly startOf: (directory: string) => string | undefined };
}

/**
 * What a caller may ask of a task at a forge.
 *
 * @throws {AppError} `not_found`.
 */
export async function taskMay(
  { forge, input, caller }: AskedOf<{ readonly task: string }>,
  host: MayHost,
): Promise<TaskMay> {
  const task = await findTask(input.task, host.store);
  const used = await host.store.listOutputs(task.id);
  const bare = await outputAsked(task, { forge, caller }, host.store);
  const from = await forgeOfTask(task, host.store);
  const other = from === undefined || from === forge ? undefined : otherForge(task, from);
  const address = other === undefined ? await findAddress(task, forge, host) : undefined;
  const connection = address &&
    host.catalog.find<Connection["spec"]>("Connection", task.project, address.connection);
  const asked: OutputAsked = { ...bare, connection };
  const may = bare.plan?.may;
  const all = declaredLimits(may, forge).map(({ output, limits }) => ({
    output,
    ...left(limits, used.get(output) ?? []),
    why: other ?? findRefusal(output, asked),
  }));
  return {
    task_id: task.id,
    workflow: task.workflow,
    step: bare.step ?? null,
    declared: may !== undefined,
    connection: connection?.name ?? null,
    repository: address?.subject.repository ??
      (other === undefined ? repositoryIn(may, forge) : undefined) ?? null,
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

/**
 * The forges at which a task can have a place: that of its event, else those whose repository its
 * workflow names.
 */
export async function forgesOf(id: string, host: MayHost): Promise<readonly ForgeName[]> {
  const task = await findTask(id, host.store);
  const from = await forgeOfTask(task, host.store);
  if (from !== undefined) return [from];
  const json = await host.store.findPlan(task.id);
  const { may } = json === undefined ? {} : JSON.parse(json) as Partial<MayPlan>;
  return FORGES.filter((forge) => repositoryIn(may, forge) !== undefined);
}

/** The repository that a workflow names for a forge. */
export function repositoryIn(may: May | undefined, forge: ForgeName): string | undefined {
  return may?.[forge]?.pull?.repository ?? may?.[forge]?.issue?.repository;
}

/** Where the answers of a task go; `undefined` where they have no place. */
async function findAddress(
  task: Task,
  forge: ForgeName,
  host: MayHost,
): Promise<AnswerAddress | undefined> {
  try {
    return await addressOf(task, forge, host);
  } catch (error) {
    if (error instanceof AppError && error.code === "refused") return undefined;
    throw error;
  }
}
