/**
 * The child tasks of a running task: they end with it, and what they give is stored for it.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { compileTemplate, renderTemplate } from "../../cel/template.ts";
import type { ChildStore } from "../../store/child_store.ts";
import { ALL_CHILDREN } from "../../store/rules/children.ts";
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
  const { store, clock } = host;
  const of = position === undefined ? {} : { position };
  for (
    const { id, state } of await store.listChildren({ taskId: task.id, ...of, limit: ALL_CHILDREN })
  ) {
    if (!isUnfinished(state)) continue;
    const reason = `task ${task.id}, which has started it, does not wait for it any more`;
    const result = await store.cancelTask(id, { reason, now: clock.now(), followed: true });
    const [child] = result === "cancelled" ? await store.findTasks(id) : [];
    if (child !== undefined) announceEnd(child, host);
  }
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
  await retryInRun(
    context,
    () => host.store.saveChildOutputs(task.id, host.secrets.redactAll(found)),
  );
}
