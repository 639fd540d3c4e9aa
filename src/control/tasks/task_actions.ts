/**
 * Operations on a task, for operators and for its own steps: cancel it, read and write its inbox,
 * find the directory of its steps.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import type { CancelResult } from "../../api/task_operations.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import type { NewId } from "../../base/ids.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ResolvePath } from "../../base/user_paths.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { isolationOf } from "../../resources/workspace.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import type { IdSearch } from "../../store/id_search.ts";
import type { NodeStore } from "../../store/node_store.ts";
import { staysBehind } from "../../store/rules/placement.ts";
import type { InboxStore, TaskRecorder, TaskStore } from "../../store/task_store.ts";
import type { CurrentResources } from "../../store/stale_resources.ts";
import type { InboxMessage, Task } from "../../store/task_records.ts";
import { type Plan, planHere, type Planner } from "../../tasks/plan.ts";
import type { DefaultLimits } from "../../tasks/time_limits.ts";
import { isDirectory } from "../../tasks/workspace/directory_fault.ts";
import type { TaskDirectories } from "../../tasks/workspace/task_directory.ts";
import { type Caller, withClient } from "../../auth/caller.ts";
import type { RecordStore } from "../records/record_type.ts";
import { findTask } from "../records/records.ts";
import type { LogsHost } from "./followed_log.ts";
import { findTaskHome } from "./task_home.ts";

/** The tasks of a daemon, and the parts that change them. */
export interface TasksHost extends LogsHost {
  readonly secrets: KnownSecrets;
  readonly store:
    & TaskStore
    & InboxStore
    & RecordStore
    & NodeStore
    & IdSearch
    & Pick<TaskRecorder, "setTaskDirectory">;
  readonly catalog: Catalog;
  readonly resources: CurrentResources;
  /** Plans a task that never had a plan. */
  readonly planner: Planner;
  readonly newId: NewId;
  /** Time limits of tasks and steps that set none. */
  readonly timeLimits: DefaultLimits;
  /** Directories and commits of tasks. */
  readonly directories: Pick<TaskDirectories, "discard" | "whereCommitsAre">;
  /** Makes the paths of manifests absolute. */
  readonly resolvePath: ResolvePath;
  /** Cancels a pending task, or begins to cancel a running one. */
  readonly cancelTask: (task: Task, reason: string) => Promise<CancelResult["result"]>;
  /** Adds a message to the inbox of a task; `undefined` when the task has ended. */
  readonly sendToInbox: (taskId: string, message: JsonObject) => Promise<InboxMessage | undefined>;
}

/** Most characters of a reason. */
const MAX_REASON = 500;
/** Most characters of a message. */
const MAX_TEXT = 256 * 1024;

/**
 * Cancels tasks; all are looked up before the first is cancelled.
 *
 * @throws {AppError} `not_found`; `invalid` for a reason that is too long.
 */
export async function cancelTasks(
  input: Input<"task.cancel">,
  caller: Caller,
  host: TasksHost,
): Promise<Output<"task.cancel">> {
  const why = cancelReason(input.reason, caller, host);
  const found = await Promise.all(input.ids.map((id) => findTask(id, host.store)));
  const tasks = new Map(found.map((task) => [task.id, task]));
  const results: CancelResult[] = [];
  for (const id of tasks.keys()) results.push({ id, ...await cancelOne(id, why, host) });
  return { tasks: results };
}

/**
 * The stored reason of a cancelled task, which names the caller.
 *
 * @throws {AppError} `invalid` for a reason that is too long.
 */
export function cancelReason(
  reason = "",
  caller: Caller,
  { secrets }: Pick<TasksHost, "secrets">,
): string {
  if (reason.length > MAX_REASON) {
    throw new AppError("invalid", `A reason has at most ${MAX_REASON} characters`);
  }
  // A caller on the socket has no token, and so no name.
  const name = caller.name === "socket" ? "an operator" : caller.name;
  const by = withClient(name, caller.client);
  return secrets.redact(`cancelled by ${by}${reason === "" ? "" : `: ${reason}`}`);
}

/**
 * Cancels one task.
 *
 * @throws {AppError} `not_found`.
 */
export async function cancelOne(
  id: string,
  why: string,
  host: TasksHost,
): Promise<Pick<CancelResult, "result" | "state">> {
  const result = await host.cancelTask(await findTask(id, host.store), why);
  const { state } = await findTask(id, host.store);
  return { result, state };
}

/**
 * The messages to a task, oldest first.
 *
 * @throws {AppError} `not_found`.
 */
export async function readInbox(
  input: Input<"task.inbox">,
  host: TasksHost,
): Promise<Output<"task.inbox">> {
  const { id } = await findTask(input.id, host.store);
  const messages = await host.store.listInbox(id);
  return {
    id,
    messages: messages.map(({ position, message, createdAt }) => ({
      position,
      created_at: rfc3339(createdAt),
      message,
    })),
  };
}

/**
 * Sends a message to a task.
 *
 * @throws {AppError} `not_found`, `conflict` when the task has ended, `too_large`.
 */
export async function sendToInbox(
  input: Input<"task.inbox.send">,
  caller: Caller,
  host: TasksHost,
): Promise<Output<"task.inbox.send">> {
  const { id } = await findTask(input.id, host.store);
  if (input.text.length > MAX_TEXT) {
    throw new AppError("too_large", `A message has at most ${MAX_TEXT} characters`);
  }
  const sent = await host.sendToInbox(id, {
    text: input.text,
    from: caller.grant === undefined ? "operator" : caller.grant.kind,
    at: rfc3339(host.clock.now()),
  });
  if (sent !== undefined) return { id, position: sent.position };
  throw new AppError("conflict", `Task ${id} has ended: no step would read the message`);
}

/**
 * The directory in which the steps of a task run or ran, while it exists.
 *
 * @throws {AppError} `not_found`, or `conflict` with the reason why there is none.
 */
export async function taskWorkspace(
  input: Input<"task.workspace">,
  host: TasksHost,
): Promise<Output<"task.workspace">> {
  const task = await findTask(input.id, host.store);
  const stored = await host.store.findPlan(task.id);
  if (stored === undefined) {
    throw new AppError("conflict", `Task ${task.id} never ran: ${task.reason}`);
  }
  if (staysBehind((JSON.parse(stored) as Plan).workspace)) await checkIsHere(task, host.store);
  const { workspace } = planHere(stored, host.resolvePath);
  const isolation = isolationOf(workspace);
  const path = isolation === "shared" ? workspace.path : task.directory;
  if (path === "") {
    const commits = host.directories.whereCommitsAre(task.id);
    const rest = commits === "" ? "" : `; ${commits}`;
    throw new AppError("conflict", `${whyNoDirectory(task, isolation)}${rest}`);
  }
  if (!await isDirectory(path)) {
    throw new AppError("conflict", `The directory "${path}" of task ${task.id} is gone`);
  }
  return { id: task.id, workspace: task.workspace, isolation, path };
}

/**
 * Removes the worktree or copy of a task that has ended, and its commits.
 *
 * @throws {AppError} `not_found`; `conflict` when it has not ended; `invalid` when something cannot
 * be removed.
 */
export async function cleanWorkspace(
  input: Input<"task.workspace.clean">,
  { store, directories, resolvePath }: TasksHost,
): Promise<Output<"task.workspace.clean">> {
  const task = await findTask(input.id, store);
  const { id, state, directory, finishedAt } = task;
  if (finishedAt === undefined) {
    throw new AppError("conflict", `Task ${id} is ${state}: its directory is needed until it ends`);
  }
  await checkIsHere(task, store);
  const stored = await store.findPlan(id);
  const from = stored === undefined ? undefined : planHere(stored, resolvePath).workspace.path;
  // Before the removal, so that no retry continues in this directory.
  if (directory !== "") await store.setTaskDirectory(id, "");
  try {
    return { id, removed: await directories.discard({ id, directory }, defined({ from })) };
  } catch (error) {
    if (directory !== "") await store.setTaskDirectory(id, directory);
    throw error;
  }
}

/** @throws {AppError} `conflict` when another node ran the task, and has its files. */
async function checkIsHere(task: Task, store: Pick<NodeStore, "listNodes">): Promise<void> {
  const home = await findTaskHome(task, store);
  if (home.is !== "elsewhere") return;
  throw new AppError("conflict", `Task ${task.id} ran on node "${home.node}": run this there`);
}

function whyNoDirectory({ id, state, startedAt }: Task, isolation: string): string {
  const own = isolation === "worktree" ? "worktree" : "copy of the workspace";
  if (startedAt === undefined && state === "pending") {
    return `Task ${id} has not started, its ${own} is made when it does`;
  }
  if (startedAt === undefined) return `Task ${id} never started and so never had a ${own}`;
  if (state === "succeeded") return `Task ${id} succeeded, and svc removed its ${own} then`;
  return `The ${own} of task ${id} is gone`;
}
