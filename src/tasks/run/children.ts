/**
 * The child tasks of a running task: they end with it, and what they give is stored for it.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { compileTemplate, renderTemplate } from "../../cel/template.ts";
import type { AbandonedChild } from "../../store/child_records.ts";
import type { ChildStore } from "../../store/child_store.ts";
import { ALL_CHILDREN, MAX_RESULTS } from "../../store/rules/children.ts";
import { isUnfinished } from "../../store/task_records.ts";
import type { TaskQueue, TaskStore } from "../../store/task_store.ts";
import { announceEnd } from "./announce_end.ts";
import { retryInRun, type RunHost, type TaskContext } from "./task_context.ts";

/** The parts of a daemon that cancel children. */
export interface ChildrenHost extends Pick<RunHost, "clock" | "log" | "events"> {
  readonly store:
    & Pick<ChildStore, "listChildren">
    & Pick<TaskQueue, "cancelTask">
    & Pick<TaskStore, "findTasks">;
}

/** Cancels the children of a task that have not ended; with `position`, those of this step. */
export async function cancelChildren(
  { claimed: { task }, host }: {
    readonly claimed: { readonly task: { readonly id: string } };
    readonly host: ChildrenHost;
  },
  position?: number,
): Promise<void> {
  const { store } = host;
  const of = position === undefined ? {} : { position };
  const query = { taskId: task.id, ...of, isOpen: true, limit: ALL_CHILDREN };
  for (const { id, state } of await store.listChildren(query)) {
    if (isUnfinished(state)) await cancelChild({ id, taskId: task.id }, host);
  }
}

/** Cancels a child for which the task above, `taskId`, does not wait any more. */
export async function cancelChild(
  { id, taskId }: Pick<AbandonedChild, "id" | "taskId">,
  { store, ...host }: Omit<ChildrenHost, "store"> & {
    readonly store: Omit<ChildrenHost["store"], "listChildren">;
  },
): Promise<void> {
  const reason = `task ${taskId}, which has started it, does not wait for it any more`;
  const now = host.clock.now();
  const result = await store.cancelTask(id, { reason, now, followed: true });
  const [child] = result === "cancelled" ? await store.findTasks(id) : [];
  if (child !== undefined) announceEnd(child, host);
}

/** Most characters of an output. */
const MAX_OUTPUT = 64 * 1024;
/** Most characters of all of them. */
const MAX_OUTPUTS = 1024 * 1024;

/**
 * Stores the outputs of the workflow of a child that is about to succeed.
 *
 * @throws {AppError} `invalid`, naming the output, when one has no value or is too long.
 */
export async function storeOutputs(context: TaskContext): Promise<void> {
  const { plan: { outputs = {} }, evaluator, host, claimed: { task } } = context;
  const scope = context.scopeFor({ state: "succeeded", goal: context.goal });
  const found: Record<string, string> = {};
  let length = 0;
  for (const [name, template] of Object.entries(outputs)) {
    try {
      found[name] = (await renderTemplate(compileTemplate(template), scope, evaluator))
        .toWellFormed();
    } catch (cause) {
      if (!(cause instanceof AppError) || cause.code !== "invalid") throw cause;
      throw new AppError("invalid", `output "${name}" of the workflow: ${cause.message}`, {
        cause,
      });
    }
    const own = found[name]?.length ?? 0;
    length += own;
    if (own > MAX_OUTPUT || length > MAX_OUTPUTS) {
      throw new AppError(
        "invalid",
        `output "${name}" of the workflow is too long: an output has at most ${
          MAX_OUTPUT / 1024
        } ` +
          `KiB, all of them ${MAX_OUTPUTS / 1024} KiB`,
      );
    }
  }
  const isStored = await retryInRun(
    context,
    () => host.store.saveChildOutputs(task.id, host.secrets.redactAll(found)),
  );
  if (isStored) return;
  const most = `${MAX_RESULTS / 1024} KiB`;
  throw new AppError("invalid", `the outputs of all items have more than ${most} together`);
}
