/**
 * Cancels or retries all tasks that match: collects them first, because the end of one may start
 * another, then reports a line for each.
 *
 * @module
 */

import type { Input } from "../../api/operations.ts";
import type { MatchingLine } from "../../api/task_operations.ts";
import type { Caller } from "../../auth/caller.ts";
import { defined } from "../../base/defined.ts";
import { AppError, toAppError } from "../../base/errors.ts";
import type { Task, TaskState } from "../../store/task_records.ts";
import { listInSteps } from "../records/list_in_steps.ts";
import { toQuery } from "../records/record_query.ts";
import { recordType } from "../records/records.ts";
import { cancelOne, cancelReason, type TasksHost } from "./task_actions.ts";
import { retryTask } from "./task_retry.ts";

/** Which tasks to cancel or retry. */
type TaskFilter = Omit<Input<"task.cancel.matching">, "reason" | "dry_run">;

/** A task that matches, as it was when the tasks were collected. */
type MatchingTask = Pick<Task, "id" | "state" | "parentId" | "rootId">;

/** States in which a task can be retried. */
const ENDED: readonly TaskState[] = ["failed", "cancelled", "succeeded"];

/** Tasks read in one call. */
const PAGE_SIZE = 500;

/**
 * Cancels the tasks that match. Pending ones come first: the end of a running task would start one
 * of them.
 *
 * @throws {AppError} `usage` without a filter, or for tasks that have ended; `invalid` for a reason
 * that is too long.
 */
export async function* cancelMatching(
  { reason, dry_run: dryRun = false, ...filter }: Input<"task.cancel.matching">,
  caller: Caller,
  { host, signal }: { readonly host: TasksHost; readonly signal: AbortSignal },
): AsyncGenerator<MatchingLine> {
  const why = cancelReason(reason, caller, host);
  const tasks = await collect(filter, {
    states: ["pending", "waiting", "running"],
    done: "cancelled",
  }, host);
  yield* forEach(tasks, { dryRun, signal }, async ({ id }) => await cancelOne(id, why, host));
}

/**
 * Retries the tasks that match and have not been retried yet for a caller, oldest first; failed ones
 * if the input gives no state. It leaves out children that the retry of a task above them makes anew.
 *
 * @throws {AppError} `usage` without a filter, or for tasks that have not ended.
 */
export async function* retryMatching(
  { dry_run: dryRun = false, ...filter }: Input<"task.retry.matching">,
  caller: Caller,
  { host, signal }: { readonly host: TasksHost; readonly signal: AbortSignal },
): AsyncGenerator<MatchingLine> {
  const states = filter.state === undefined ? ["failed" as const] : ENDED;
  const found = await collect(filter, { states, done: "retried" }, host);
  const matching = new Set(found.map(({ id }) => id));
  const tasks: MatchingTask[] = [];
  let leftOut = 0;
  for (const task of found) {
    if (await isRetried(task.id, host)) continue; // both would run the same event twice
    if (await isMadeAnew(task, matching, host)) leftOut++;
    else tasks.push(task);
  }
  yield* forEach(tasks, { dryRun, signal, leftOut }, async ({ id }) => {
    const { id: newId, note } = await retryTask({ id }, caller, host);
    return { new_task_id: newId, ...defined({ note: note || undefined }) };
  });
}

async function isRetried(id: string, { store }: TasksHost): Promise<boolean> {
  return (await store.listTasks({ retryOf: id, limit: 1 })).length > 0;
}

/** Whether a task above a child is to be retried with it, or has been: that makes the child anew. */
async function isMadeAnew(
  { parentId, rootId }: MatchingTask,
  matching: ReadonlySet<string>,
  host: TasksHost,
): Promise<boolean> {
  for (let id = rootId === "" ? "" : parentId; id !== "";) {
    if (matching.has(id) || await isRetried(id, host)) return true;
    const [above] = id === rootId ? [] : await host.store.findTasks(id);
    id = above?.parentId ?? "";
  }
  return false;
}

async function* forEach(
  tasks: readonly MatchingTask[],
  { dryRun, signal, leftOut = 0 }: {
    readonly dryRun: boolean;
    readonly signal: AbortSignal;
    /** How many children match and are left out. */
    readonly leftOut?: number;
  },
  act: (task: MatchingTask) => Promise<Partial<Exclude<MatchingLine, { total: number }>>>,
): AsyncGenerator<MatchingLine> {
  yield { total: tasks.length, ...defined({ left_out: leftOut || undefined }) };
  for (const task of tasks) {
    if (signal.aborted) return;
    const { id, state } = task;
    const result = dryRun
      ? {}
      : await act(task).catch((error) => ({ error: toAppError(error).message }));
    yield { task_id: id, state, ...result };
  }
}

/** The tasks that match in these states, of each state the oldest first. */
async function collect(
  filter: TaskFilter,
  { states, done }: { readonly states: readonly TaskState[]; readonly done: string },
  host: TasksHost,
): Promise<readonly MatchingTask[]> {
  checkFilter(filter, states, done);
  const { state: only, ...query } = filter;
  const found: MatchingTask[] = [];
  for (const state of states.filter((known) => only === undefined || known === only)) {
    const page = { ...query, state, limit: PAGE_SIZE };
    let rest = { ...toQuery(page, host.clock.now()), oldestFirst: true };
    for (;;) {
      const { rows, next } = await listInSteps(recordType("task"), rest, host.store);
      found.push(
        ...(rows as readonly Task[]).map(({ id, parentId, rootId }) => (
          { id, state, parentId, rootId }
        )),
      );
      if (next === undefined) break;
      rest = { ...rest, after: next };
    }
  }
  return found;
}

function checkFilter(filter: TaskFilter, states: readonly TaskState[], done: string): void {
  const { trigger, workflow, state, since_secs: since } = filter;
  if ((trigger ?? workflow ?? state ?? since) === undefined) {
    const message = `Every task would be ${done}: give a trigger, a workflow, a state or a time`;
    throw new AppError("usage", message);
  }
  if (state === undefined || states.some((known) => known === state)) return;
  const message = `Tasks are ${done} in the state ${states.join(" or ")}, not "${state}"`;
  throw new AppError("usage", message);
}
