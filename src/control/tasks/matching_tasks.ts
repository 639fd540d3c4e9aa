/**
 * Cancels or retries all tasks that match: collects them first, because what is done to one may
 * start another, then reports a line for each.
 *
 * @module
 */

import type { Input } from "../../api/operations.ts";
import type { MatchingLine } from "../../api/task_operations.ts";
import type { Caller } from "../../auth/caller.ts";
import { AppError, toAppError } from "../../base/errors.ts";
import type { Task, TaskState } from "../../store/task_records.ts";
import { listInSteps } from "../records/list_in_steps.ts";
import { toQuery } from "../records/record_query.ts";
import { recordType } from "../records/records.ts";
import { cancelOne, cancelReason, type TasksHost } from "./task_actions.ts";
import { retryTask } from "./task_retry.ts";

/** Which tasks are meant. */
type Wanted = Omit<Input<"task.cancel.matching">, "reason" | "dry_run">;

/** One of them, as it was when they were collected. */
type Found = Pick<Task, "id" | "state">;

/** States in which a task can be retried. */
const ENDED: readonly TaskState[] = ["failed", "cancelled", "succeeded"];

/** Tasks read in one call. */
const PAGE_SIZE = 500;

/**
 * Cancels the tasks that match, those that wait before those that run: the end of one that runs
 * makes room for the next.
 *
 * @throws {AppError} `usage` without a filter, or for tasks that have ended; `invalid` for a reason
 * that is too long.
 */
export async function* cancelMatching(
  { reason, dry_run: dryRun = false, ...wanted }: Input<"task.cancel.matching">,
  caller: Caller,
  { host, signal }: { readonly host: TasksHost; readonly signal: AbortSignal },
): AsyncGenerator<MatchingLine> {
  const why = cancelReason(reason, caller, host);
  const tasks = await collect(wanted, { states: ["pending", "running"], done: "cancelled" }, host);
  yield* forEach(tasks, { dryRun, signal }, async ({ id }) => await cancelOne(id, why, host));
}

/**
 * Retries the tasks that match and have not been retried yet, oldest first; those that failed,
 * where no state is given.
 *
 * @throws {AppError} `usage` without a filter, or for tasks that have not ended.
 */
export async function* retryMatching(
  { dry_run: dryRun = false, ...wanted }: Input<"task.retry.matching">,
  { host, signal }: { readonly host: TasksHost; readonly signal: AbortSignal },
): AsyncGenerator<MatchingLine> {
  const states = wanted.state === undefined ? ["failed" as const] : ENDED;
  const tasks: Found[] = [];
  for (const task of await collect(wanted, { states, done: "retried" }, host)) {
    // Its retry stands for it: both would run the same event twice.
    const [again] = await host.store.listTasks({ retryOf: task.id, limit: 1 });
    if (again === undefined) tasks.push(task);
  }
  yield* forEach(tasks, { dryRun, signal }, async ({ id }) => {
    const { id: made, note } = await retryTask({ id }, host);
    return { new_task_id: made, ...(note === "" ? {} : { note }) };
  });
}

async function* forEach(
  tasks: readonly Found[],
  { dryRun, signal }: { readonly dryRun: boolean; readonly signal: AbortSignal },
  act: (task: Found) => Promise<Partial<Exclude<MatchingLine, { total: number }>>>,
): AsyncGenerator<MatchingLine> {
  yield { total: tasks.length };
  for (const task of tasks) {
    if (signal.aborted) return;
    const { id, state } = task;
    const base = { task_id: id, state };
    if (dryRun) yield base;
    else {yield {
        ...base,
        ...await act(task).catch((error) => ({ error: toAppError(error).message })),
      };}
  }
}

/** The tasks that match in these states, of each state the oldest first. */
async function collect(
  wanted: Wanted,
  { states, done }: { readonly states: readonly TaskState[]; readonly done: string },
  host: TasksHost,
): Promise<readonly Found[]> {
  checkWanted(wanted, states, done);
  const { state: only, ...query } = wanted;
  const found: Found[] = [];
  for (const state of states.filter((known) => only === undefined || known === only)) {
    const page = { ...query, state, limit: PAGE_SIZE };
    let rest = { ...toQuery(page, host.clock.now()), oldestFirst: true };
    for (;;) {
      const { rows, next } = await listInSteps(recordType("task"), rest, host.store);
      found.push(...(rows as readonly Task[]).map(({ id }) => ({ id, state })));
      if (next === undefined) break;
      rest = { ...rest, after: next };
    }
  }
  return found;
}

function checkWanted(wanted: Wanted, states: readonly TaskState[], done: string): void {
  const { trigger, workflow, state, since_secs: since } = wanted;
  if ((trigger ?? workflow ?? state ?? since) === undefined) {
    const message = `Every task would be ${done}: give a trigger, a workflow, a state or a time`;
    throw new AppError("usage", message);
  }
  if (state === undefined || states.some((known) => known === state)) return;
  const message = `Tasks are ${done} in the state ${states.join(" or ")}, not "${state}"`;
  throw new AppError("usage", message);
}
