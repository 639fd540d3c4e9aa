/**
 * The operations on tasks.
 *
 * @module
 */

import Type from "typebox";
import {
  defineOperation,
  json,
  lines,
  OPTIONAL_SECS,
  OPTIONAL_TEXT,
  TASK,
  TEXT,
} from "./operation.ts";
import { EVERY_RUN } from "./roles.ts";

/** The result of cancelling one task. */
export interface CancelResult {
  readonly id: string;
  /** `cancelled` before it started, `stopping` while it runs, `ended` when it had ended already. */
  readonly result: "cancelled" | "stopping" | "ended";
  readonly state: string;
}

/** A line of a wait: an ended task as `get` shows it, or a keepalive. */
export type WaitLine =
  | { readonly task: Readonly<Record<string, unknown>> }
  | { readonly waiting: number }
  | { readonly timed_out: readonly string[] };

/** A message to a task. */
export interface InboxEntry {
  /** Place in the inbox, from 0. */
  readonly position: number;
  /** RFC 3339. */
  readonly created_at: string;
  readonly message: Readonly<Record<string, unknown>>;
}

/** A piece of a task's output. */
export interface LogEntry {
  /** RFC 3339. */
  readonly at: string;
  /** Id of the step. */
  readonly step: string;
  /** `out` or `err`; `svc` for lines of svc's own, such as why the step failed. */
  readonly stream: "out" | "err" | "svc";
  /** The bytes in base64. */
  readonly data: string;
}

/** The last line of a log stream. */
export interface LogEnd {
  readonly state: string;
  /** Why the task ended so; empty when there is no reason to give. */
  readonly reason: string;
}

const TASK_IDS = Type.Array(TASK, { minItems: 1, maxItems: 1000 });

/** The operations on tasks, by name. */
export const TASK_OPERATIONS = {
  "task": defineOperation({
    summary: "Finds one task",
    input: { id: TASK },
    output: json<Record<string, unknown>>(),
    role: "read_only",
    grants: EVERY_RUN,
  }),
  "task.logs": defineOperation({
    summary: "Streams the output of a task: `LogEntry` lines, then one `LogEnd`",
    input: {
      id: TASK,
      step: OPTIONAL_TEXT,
      follow: Type.Boolean(),
      tail: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000 })),
      since_secs: OPTIONAL_SECS,
    },
    output: lines<LogEntry | LogEnd>(),
    role: "read_only",
    grants: EVERY_RUN,
  }),
  "task.wait": defineOperation({
    summary: "Waits until tasks have ended, and reports each as it ends",
    input: { ids: TASK_IDS, timeout_secs: OPTIONAL_SECS },
    output: lines<WaitLine>(),
    role: "read_only",
    grants: EVERY_RUN,
  }),
  "task.cancel": defineOperation({
    summary: "Cancels tasks, all or none",
    input: { ids: TASK_IDS, reason: OPTIONAL_TEXT },
    output: json<{ readonly tasks: readonly CancelResult[] }>(),
    role: "operator",
    grants: { step: { own: "task", in: "ids" } },
  }),
  "task.retry": defineOperation({
    summary: "Stores a task that repeats another one and takes over its finished steps",
    input: { id: TASK, from: OPTIONAL_TEXT },
    output: json<{
      readonly id: string;
      readonly retry_of: string;
      readonly kept: readonly string[];
      readonly note: string;
    }>(),
    role: "operator",
  }),
  "task.inbox": defineOperation({
    summary: "Reads the messages to a task, oldest first",
    input: { id: TASK },
    output: json<{ readonly id: string; readonly messages: readonly InboxEntry[] }>(),
    role: "read_only",
    grants: { step: { own: "task", in: "id" } },
  }),
  "task.inbox.send": defineOperation({
    summary: "Sends a message to a task that has not ended",
    input: { id: TASK, text: TEXT },
    output: json<{ readonly id: string; readonly position: number }>(),
    role: "operator",
    grants: { step: { own: "task", in: "id" } },
  }),
  "task.workspace": defineOperation({
    summary: "Finds the directory in which the steps of a task ran",
    input: { id: TASK },
    output: json<{
      readonly id: string;
      readonly workspace: string;
      readonly isolation: string;
      readonly path: string;
    }>(),
    role: "read_only",
    grants: EVERY_RUN,
  }),
  "task.workspace.clean": defineOperation({
    summary: "Removes the worktree or copy that is kept for a task that has ended, and its commits",
    input: { id: TASK },
    output: json<{
      readonly id: string;
      /** Directory and refs, as far as there were any. */
      readonly removed: readonly string[];
    }>(),
    role: "operator",
  }),
};
