/**
 * The handlers of the operations on tasks.
 *
 * @module
 */

import type { TASK_OPERATIONS } from "../../api/task_operations.ts";
import type { WAIT_OPERATIONS } from "../../api/wait_operations.ts";
import { findTask } from "../records/records.ts";
import { taskView } from "../records/views.ts";
import type { Handlers } from "../server/server.ts";
import { cancelMatching, retryMatching } from "./matching_tasks.ts";
import {
  cancelTasks,
  cleanWorkspace,
  readInbox,
  sendToInbox,
  type TasksHost,
  taskWorkspace,
} from "./task_actions.ts";
import { taskLogs } from "./task_logs.ts";
import { type ContinueHost, continueTask } from "./task_continue.ts";
import { type PlanHost, taskPlan } from "./task_plan.ts";
import { readTaskLog } from "./log_read.ts";
import { retryTask } from "./task_retry.ts";
import { waitForTasks } from "./task_wait.ts";
import { taskWaits, type WaitsHost } from "./task_waits.ts";

/** The handlers, by name of the operation. */
export function taskHandlers(
  host: TasksHost & PlanHost & ContinueHost & WaitsHost,
): Pick<Handlers, keyof typeof TASK_OPERATIONS | keyof typeof WAIT_OPERATIONS> {
  return {
    "task": async ({ id }) => taskView(await findTask(id, host.store)),
    "task.logs": (input, _caller, signal) => taskLogs(input, host, signal),
    "task.plan": (input) => taskPlan(input, host),
    "task.waits": (input) => taskWaits(input, host),
    "task.log.read": (input) => readTaskLog(input, host),
    "task.wait": (input, _caller, signal) => waitForTasks(input, host, signal),
    "task.cancel": (input, caller) => cancelTasks(input, caller, host),
    "task.continue": (input, caller) => continueTask(input, caller, host),
    "task.cancel.matching": (input, caller, signal) =>
      cancelMatching(input, caller, { host, signal }),
    "task.retry.matching": (input, caller, signal) =>
      retryMatching(input, caller, { host, signal }),
    "task.retry": (input, caller) => retryTask(input, caller, host),
    "task.inbox": (input) => readInbox(input, host),
    "task.inbox.send": (input, caller) => sendToInbox(input, caller, host),
    "task.workspace": (input) => taskWorkspace(input, host),
    "task.workspace.clean": (input) => cleanWorkspace(input, host),
  };
}
