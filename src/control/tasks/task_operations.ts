/**
 * The operations on tasks and what carries each out.
 *
 * @module
 */

import type { TaskOperations, TaskStreams } from "../../api/task_operations.ts";
import type { Handlers, StreamHandlers } from "../server/server.ts";
import {
  cancelTasks,
  readInbox,
  sendToInbox,
  type TaskActionHost,
  taskWorkspace,
} from "./task_actions.ts";
import { type LogsHost, taskLogs } from "./task_logs.ts";
import { type RetryHost, retryTask } from "./task_retry.ts";
import { waitForTasks } from "./task_wait.ts";

/** What they need. */
export interface TaskOperationsHost extends TaskActionHost, LogsHost, RetryHost {}

/** Those that answer at once. */
export function taskHandlers(host: TaskOperationsHost): Pick<Handlers, keyof TaskOperations> {
  return {
    "task.cancel": (input, caller) => cancelTasks(input, caller, host),
    "task.retry": (input) => retryTask(input, host),
    "task.inbox": (input, caller) => readInbox(input, caller, host),
    "task.inbox.send": (input, caller) => sendToInbox(input, caller, host),
    "task.workspace": (input) => taskWorkspace(input, host),
  };
}

/** Those that stream. */
export function taskStreams(host: TaskOperationsHost): Pick<StreamHandlers, keyof TaskStreams> {
  return {
    "task.logs": (input, signal) => taskLogs(input, host, signal),
    "task.wait": (input, signal) => waitForTasks(input, host, signal),
  };
}
